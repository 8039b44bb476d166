/** The figures of a phase, each with its name: one list for the terminal, the page and the comparison. */
import type { Clocks, Distribution, Limit, Phase } from "../measure/result.ts";
import { amount, bytes, duration, megabytes, number, percent, perSecond } from "./words.ts";

export interface Figure {
  /** Unique within a phase. */
  readonly key: string;
  readonly name: string;
  /** With its unit; undefined where nobody measured it. */
  readonly text: string | undefined;
}

export const clockNames: Readonly<Record<keyof Clocks, string>> = {
  reaction: "event to reconcile start",
  reconcile: "reconcile duration",
  write: "write to acknowledged",
  webhook: "admission review",
  queueWait: "waited in its queue",
  windowWait: "waited for the window",
  urgentWindowWait: "waited for it, urgent",
  answer: "sent to answered",
  urgentAnswer: "sent to answered, urgent",
  eventLoop: "event loop delay",
  ready: "change to pod arrived",
  outOfService: "pod out of service",
  gateToImage: "gate closed to new image",
};

/** Of the manager's own stages, where it was asked to measure them. */
const stageClocks = [
  "queueWait",
  "windowWait",
  "urgentWindowWait",
  "answer",
  "urgentAnswer",
  "eventLoop",
] as const;
/** Absent where there is nothing to measure, which is no figure that is missing. */
const isOptional: ReadonlySet<keyof Clocks> = new Set([...stageClocks, "outOfService", "gateToImage"]);

const sources: Readonly<Record<Distribution["source"], string>> = {
  manager: "the manager",
  watch: "the watch",
  client: "the bench",
};

/** Writes of pods a second while the phase lasted, whoever made them: each is one event of the watch. */
export function podWritesPerSecond({ podEventsPerPod, pods, tookMs }: Phase): number {
  return (podEventsPerPod * pods) / (tookMs / 1000);
}

function figure(name: string, text: string | undefined): Figure {
  return { key: name, name, text };
}

/** In the order in which they are shown; `limit` is that of the run. */
export function figuresOf(phase: Phase, limit: Limit | undefined): Figure[] {
  return [
    ...times(phase),
    ...clockFigures(phase.clocks),
    ...requestFigures(phase),
    ...processFigures(phase),
    ...growth(phase),
    ...replicaFigures(phase),
    ...budgetFigures(phase),
    ...limitFigures(phase, limit),
    ...Object.entries(phase.facts).map(factFigure),
    figure("bench busy", percent(phase.benchBusy)),
    ...(phase.machineBusy === undefined ? [] : [figure("machine busy", percent(phase.machineBusy))]),
  ];
}

/** `status lag, ms` names its unit; `pods kept` and `reviews a second` begin with it. */
function factFigure([name, value]: readonly [string, number]): Figure {
  const [, what, unit] = /^(.{1,200}), (\S+)$/.exec(name) ?? [];
  if (what !== undefined) return { key: name, name: what, text: `${number(value)} ${unit}` };
  const [noun = ""] = name.split(" ");
  if (!/^[a-z]+s$/.test(noun)) return figure(name, number(value));
  return figure(name, name.startsWith(`${noun} a second`) ? perSecond(value, noun) : amount(value, noun));
}

function times(phase: Phase): Figure[] {
  const { pods, firstTouchedMs, firstReadyMs, tookMs } = phase;
  return [
    figure("pods", amount(pods, "pods")),
    figure("change to first pod touched", knownDuration(firstTouchedMs)),
    figure("change to first pod arrived", knownDuration(firstReadyMs)),
    figure("change to last pod arrived", duration(tookMs)),
    figure("pods a second", perSecond(podsPerSecond(phase), "pods")),
  ];
}

function knownDuration(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : duration(ms);
}

export function podsPerSecond({ pods, tookMs }: Pick<Phase, "pods" | "tookMs">): number {
  return Math.round((pods / tookMs) * 10_000) / 10;
}

function clockFigures(clocks: Clocks): Figure[] {
  const names = [
    "reaction",
    "reconcile",
    "write",
    "webhook",
    ...stageClocks,
    "ready",
    "outOfService",
    "gateToImage",
  ] as const;
  return names.flatMap((name) => {
    const clock = clocks[name];
    if (clock === undefined) {
      return isOptional.has(name) ? [] : [figure(clockNames[name], undefined)];
    }
    const { p50, p90, p99, max, source, count } = clock;
    const text = [p50, p90, p99, max].map(duration).join(" / ");
    return [
      figure(clockNames[name], text),
      {
        key: `${name} samples`,
        name: "  measured by",
        text: `${sources[source]}, ${amount(count, "samples")}`,
      },
    ];
  });
}

function requestFigures({ requests, wire, podEventsPerPod, pods }: Phase): Figure[] {
  const perPod = requests.source === "none" ? undefined : amount(requests.perPod, "requests");
  return [
    figure("requests a pod", perPod),
    ...Object.entries(requests.by)
      .filter(([, count]) => count / pods >= 0.005)
      .sort(([, left], [, right]) => right - left)
      .map(([key, count]) => figure(`  ${key}`, amount(count / pods, "requests"))),
    ...(wire === undefined ? [] : [figure("bytes a pod (manager)", bytes(wire.perPod))]),
    figure("watch events a pod", amount(podEventsPerPod, "events")),
  ];
}

function processFigures({
  cpuSeconds,
  cpuMsPerPod,
  serverCpuMsPerPod,
  storeMb,
  residentMb,
}: Phase): Figure[] {
  return [
    ...(cpuSeconds === undefined || cpuMsPerPod === undefined
      ? []
      : [figure("manager CPU (a pod)", `${cpuSeconds.toFixed(2)} s (${cpuMsPerPod.toFixed(2)} ms)`)]),
    ...(serverCpuMsPerPod === undefined
      ? []
      : [figure("API server CPU a pod", `${serverCpuMsPerPod.toFixed(2)} ms`)]),
    ...(storeMb === undefined ? [] : [figure("API server's database", megabytes(storeMb))]),
    ...(residentMb === undefined
      ? []
      : [
          figure(
            "memory before / peak / after",
            [residentMb.before, residentMb.peak, residentMb.after].map(megabytes).join(" / "),
          ),
        ]),
  ];
}

function growth({ residentMb, pods }: Phase): Figure[] {
  if (residentMb === undefined) return [];
  return [
    figure("memory grown a pod", bytes((Math.max(0, residentMb.peak - residentMb.before) * 2 ** 20) / pods)),
  ];
}

function replicaFigures({ replicas = [] }: Phase): Figure[] {
  if (replicas.length === 0) return [];
  const requests = replicas.map((each) => each.requests).filter((count) => count !== undefined);
  return [
    figure("CPU of each replica", `${replicas.map((each) => each.cpuSeconds.toFixed(2)).join(" / ")} s`),
    figure("memory of each, at its end", replicas.map((each) => megabytes(each.residentMb)).join(" / ")),
    ...(requests.length < replicas.length ? [] : [figure("requests of each", requests.join(" / "))]),
  ];
}

function budgetFigures({ budget }: Phase): Figure[] {
  if (budget === undefined) return [];
  const { maxUnavailable, mostUnavailable, podSecondsOut, violations } = budget;
  return [
    ...(maxUnavailable === undefined
      ? []
      : [
          figure("most unavailable / allowed", `${mostUnavailable} / ${amount(maxUnavailable, "pods")}`),
          figure("pod-seconds out of service", amount(podSecondsOut, "pod-seconds")),
        ]),
    figure("budget violations", amount(violations, "violations")),
  ];
}

function limitFigures(phase: Phase, limit: Limit | undefined): Figure[] {
  if (limit === undefined) return [];
  const rate = podWritesPerSecond(phase);
  const share = percent(rate / limit.writesPerSecond);
  return [figure("pod writes a second (of the limit)", `${perSecond(rate, "writes")} (${share})`)];
}
