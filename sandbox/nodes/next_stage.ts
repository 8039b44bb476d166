/** The step of a simulated pod: which stage comes next, and when. Pure. */
import type { Random } from "../../kube/core/index.ts";
import {
  type Annotation,
  ofContainer,
  pullAnnotation,
  readyAnnotation,
  textOfContainer,
} from "../annotations.ts";
import { podStages } from "../stages/pod_stages.ts";
import type { Delay, Timing } from "../stages/profile.ts";
import type { Change, DelayName, Facts, Match, Stage } from "../stages/stage.ts";
import { failsAfterMs, preStopMs, probePassesMs } from "./command.ts";
import { containerFacts, type PodFacts, podFacts, type View } from "./facts.ts";
import { type ContainerRun, type Due, specOf } from "./pod_run.ts";

export interface NextStage {
  readonly stage: string;
  /** The container it is about; absent for stages of the pod. */
  readonly container?: string;
  readonly afterMs: number;
  readonly change: Change;
  readonly report: Stage["report"];
  /** All stages under way with their times, to be kept in the run; without this one once it has happened. */
  readonly due: readonly Due[];
  /** This stage's entry in `due`. */
  readonly key: string;
}

const containerStages = podStages.filter((stage) => stage.of === "container");
const wholePodStages = podStages.filter((stage) => stage.of === "pod");
const notOfContainer = { state: "none" } as const;

/**
 * The stage that is due first, undefined when nothing will happen by itself. A stage's delay is drawn when it
 * begins to match (`view.run.due` remembers), so that asking again does not move it. `now` is in milliseconds.
 */
export function nextStage(view: View, timing: Timing, now: number, random: Random): NextStage | undefined {
  const due: Due[] = [];
  let best: { stage: Stage; container: ContainerRun | undefined; at: number; key: string } | undefined;
  const consider = (stage: Stage, container: ContainerRun | undefined, key: string): void => {
    const known = view.run.due.find((entry) => entry.key === key);
    const at = known?.at ?? now + delayMs(stage.delay, view, container, timing, now, random);
    due.push(known ?? { key, at });
    if (best === undefined || at < best.at) best = { stage, container, at, key };
  };
  const shared = podFacts(view);
  for (const stage of wholePodStages) {
    if (matches(stage.when, { ...notOfContainer, ...shared })) consider(stage, undefined, stage.name);
  }
  eachContainer(view, shared, consider);
  if (best === undefined) return undefined;
  return {
    stage: best.stage.name,
    ...(best.container ? { container: best.container.name } : {}),
    afterMs: Math.max(0, best.at - now),
    change: best.stage.change,
    report: best.stage.report,
    due,
    key: best.key,
  };
}

function eachContainer(
  view: View,
  shared: PodFacts,
  consider: (stage: Stage, container: ContainerRun, key: string) => void,
): void {
  if (shared.pod === "new" || shared.pod === "finished") return;
  for (const [index, container] of view.run.containers.entries()) {
    const facts = containerFacts(view, shared, index);
    if (!facts) continue;
    for (const stage of containerStages) {
      if (!matches(stage.when, facts)) continue;
      const key = `${stage.name}/${container.kind}/${container.name}/${awaited(stage, view, container)}`;
      consider(stage, container, key);
    }
  }
}

/** What a stage waits for, as a part of its key: it starts over when another image, time of pulling or end is asked for. */
function awaited({ delay }: Stage, { pod }: View, run: ContainerRun): string {
  const image = specOf(pod, run)?.image ?? "";
  const withText = ({ name }: Annotation<unknown>): string =>
    `${image} ${textOfContainer(pod.metadata.annotations, run.name, name) ?? ""}`;
  switch (delay) {
    case "end":
      return String(run.endsAt);
    case "pull":
    case "pullFailure":
      return withText(pullAnnotation);
    case "ready":
      return withText(readyAnnotation);
    default:
      return image;
  }
}

function matches(match: Match, facts: Partial<Facts>): boolean {
  let name: keyof Facts;
  for (name in match) {
    const wanted: unknown = match[name];
    const fact = facts[name];
    if (Array.isArray(wanted) ? !wanted.includes(fact) : wanted !== fact) return false;
  }
  return true;
}

/** One delay out of the range, in milliseconds. */
export function draw(delay: Delay, random: Random): number {
  if (delay.to <= delay.from) return delay.from;
  const drawn = random();
  return delay.from + (delay.to - delay.from) * (delay.shape === "tail" ? drawn ** 4 : drawn);
}

function delayMs(
  name: DelayName,
  view: View,
  run: ContainerRun | undefined,
  timing: Timing,
  now: number,
  random: Random,
): number {
  switch (name) {
    case "none":
      return 0;
    case "remove":
    case "resize":
    case "agent":
      return draw(timing[name], random);
    case "backOffShown":
      return draw(timing.start, random);
    case "deadline":
      return view.run.startedAt + (view.pod.spec.activeDeadlineSeconds ?? 0) * 1_000 - now;
    default:
      return run ? containerDelayMs(name, view, run, timing, now, random) : 0;
  }
}

function containerDelayMs(
  name: "pull" | "pullFailure" | "start" | "ready" | "liveness" | "stop" | "end" | "hook",
  view: View,
  run: ContainerRun,
  timing: Timing,
  now: number,
  random: Random,
): number {
  const { pod } = view;
  const spec = specOf(pod, run);
  const image = spec?.image ?? "";
  switch (name) {
    case "pull":
    case "pullFailure":
      return (
        Math.max(0, run.pullNotBefore - now) + (givenPullMs(view, run, image) ?? draw(timing.pull, random))
      );
    case "start":
      return Math.max(startNotBefore(run, image, timing) - now, draw(timing.start, random));
    case "ready": {
      const passesMs = spec ? (probePassesMs(pod, spec, run.touched) ?? 0) : 0;
      return Math.max(0, run.startedAt + passesMs - now) + draw(timing.ready, random);
    }
    case "liveness":
      return Math.max(0, run.startedAt + failsAfterMs(spec?.livenessProbe) - now);
    case "stop": {
      const graceMs = (run.stopAsked?.graceSeconds ?? graceSecondsOf(view)) * 1_000;
      const wanted = draw(timing.stop, random) + (spec ? preStopMs(pod, spec) : 0);
      return Math.min(wanted, Math.max(graceMs, timing.stop.to));
    }
    case "end":
      return (run.endsAt ?? now) - now;
    case "hook":
      return run.hookUntil - now;
  }
}

/** How long a pull takes because somebody said so: in an annotation, or about the image. */
function givenPullMs({ pod, kubelet }: View, run: ContainerRun, image: string): number | undefined {
  return ofContainer(pod.metadata, run.name, pullAnnotation)?.afterMs ?? kubelet.pullMs(image);
}

function graceSecondsOf(view: View): number {
  const { metadata, spec } = view.pod;
  return metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30;
}

/** Earliest start of a container that exited before: the kubelet's back-off for this image (milliseconds). */
export function startNotBefore(run: ContainerRun, image: string, timing: Timing): number {
  if (run.state !== "exited") return 0;
  const known = run.backOff.get(image);
  const forgottenAfterMs = 2 * timing.backOff.longestMs;
  if (!known || run.finishedAt - known.at > forgottenAfterMs) return 0;
  return run.finishedAt + known.ms;
}
