/** The figures of a phase, each with its name: one list for the terminal, the page and the comparison. */
import type { Clocks, Distribution, Limit, Phase } from "../measure/result.ts";
import { bytes, duration, megabytes, number, percent } from "./words.ts";

export interface Figure {
  /** Unique within a phase. */
  readonly key: string;
  readonly name: string;
  readonly text: string;
}

export const clockNames: Readonly<Record<keyof Clocks, string>> = {
  reaction: "event to reconcile start",
  reconcile: "reconcile duration",
  write: "write to acknowledged",
  webhook: "admission review",
  ready: "change to pod arrived",
  outOfService: "pod out of service",
  gateToImage: "gate closed to new image",
};

const sources: Readonly<Record<Distribution["source"], string>> = {
  manager: "manager's metrics",
  watch: "watch",
  client: "bench's client",
};

/** Writes of pods a second while the phase lasted, whoever made them: each is one event of the watch. */
export function podWritesPerSecond({ podEventsPerPod, pods, tookMs }: Phase): number {
  return (podEventsPerPod * pods) / (tookMs / 1000);
}

function figure(name: string, text: string): Figure {
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
    ...budgetFigures(phase),
    ...limitFigures(phase, limit),
    ...Object.entries(phase.facts).map(([name, value]) => figure(name, number(value))),
    figure("bench busy", percent(phase.benchBusy)),
  ];
}

function times(phase: Phase): Figure[] {
  return [
    figure("pods", String(phase.pods)),
    figure("change to first pod touched", duration(phase.firstTouchedMs)),
    figure("change to first pod arrived", duration(phase.firstReadyMs)),
    figure("change to last pod arrived", duration(phase.tookMs)),
    figure("pods a second", number(Math.round((phase.pods / phase.tookMs) * 10_000) / 10)),
  ];
}

function clockFigures(clocks: Clocks): Figure[] {
  const names = [
    "reaction",
    "reconcile",
    "write",
    "webhook",
    "ready",
    "outOfService",
    "gateToImage",
  ] as const;
  return names.flatMap((name) => {
    const clock = clocks[name];
    if (clock === undefined) {
      const isOfUpdates = name === "outOfService" || name === "gateToImage";
      return isOfUpdates ? [] : [figure(clockNames[name], "not served")];
    }
    const { p50, p90, p99, max, source, count } = clock;
    const text = [p50, p90, p99, max].map(duration).join(" / ");
    return [
      figure(clockNames[name], text),
      { key: `${name} samples`, name: "  samples, from the", text: `${count}, ${sources[source]}` },
    ];
  });
}

function requestFigures({ requests, wire, podEventsPerPod, pods }: Phase): Figure[] {
  const source = requests.source === "none" ? "not served" : number(requests.perPod);
  return [
    figure("requests a pod", source),
    ...Object.entries(requests.by)
      .filter(([, count]) => count / pods >= 0.005)
      .sort(([, left], [, right]) => right - left)
      .map(([key, count]) => figure(`  ${key}`, number(count / pods))),
    ...(wire === undefined ? [] : [figure("bytes a pod (manager)", bytes(wire.perPod))]),
    figure("watch events a pod", number(podEventsPerPod)),
  ];
}

function processFigures({ cpuSeconds, cpuMsPerPod, residentMb }: Phase): Figure[] {
  return [
    ...(cpuSeconds === undefined || cpuMsPerPod === undefined
      ? []
      : [figure("manager CPU (a pod)", `${cpuSeconds.toFixed(2)} s (${cpuMsPerPod.toFixed(2)} ms)`)]),
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

function budgetFigures({ budget }: Phase): Figure[] {
  if (budget === undefined) return [];
  const { maxUnavailable, mostUnavailable, podSecondsOut, violations } = budget;
  return [
    ...(maxUnavailable === undefined
      ? []
      : [
          figure("most unavailable / allowed", `${mostUnavailable} / ${maxUnavailable}`),
          figure("pod-seconds out of service", number(podSecondsOut)),
        ]),
    figure("budget violations", String(violations)),
  ];
}

function limitFigures(phase: Phase, limit: Limit | undefined): Figure[] {
  if (limit === undefined) return [];
  const rate = podWritesPerSecond(phase);
  const share = percent(rate / limit.writesPerSecond);
  return [figure("pod writes a second (of the limit)", `${rate.toFixed(0)} (${share})`)];
}
