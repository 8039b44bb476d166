/** Status of a DaemonSet. Spec: daemonset 3. */
import type { DaemonSet, DaemonSetStatus } from "../../crds/index.ts";
import type { Pod } from "../../kube/index.ts";
import { readySince } from "../rollout/pod_state.ts";
import type { Verdict } from "./eligibility.ts";
import { isDaemonAvailable, isUpdated, type UpdateMark } from "./observe.ts";

/** Nodes, by what is on them. */
export interface Counts {
  readonly desired: number;
  readonly current: number;
  readonly misscheduled: number;
  readonly ready: number;
  readonly updated: number;
  readonly available: number;
}

export const noCounts: Counts = Object.freeze({
  desired: 0,
  current: 0,
  misscheduled: 0,
  ready: 0,
  updated: 0,
  available: 0,
});

/**
 * What one node counts as. `pods` are as the server last showed them, oldest first. Of several one is counted: what
 * serves is judged by the oldest that is not on its way out, so that a surge never seems to lose a node; what is up to
 * date by the oldest of all, so that it rises when the old pod is gone.
 */
export function countsOf(
  verdict: Verdict,
  pods: readonly Pod[],
  { mark, minReadySeconds, now }: { mark: UpdateMark; minReadySeconds: number; now: number },
): Counts {
  const [oldest] = pods;
  if (verdict !== "run") return oldest === undefined ? noCounts : { ...noCounts, misscheduled: 1 };
  if (oldest === undefined) return { ...noCounts, desired: 1 };
  const serving = pods.length === 1 ? oldest : (pods.find((pod) => pod.deletionAt === undefined) ?? oldest);
  const isServing = readySince(serving) !== undefined;
  return {
    desired: 1,
    current: 1,
    misscheduled: 0,
    ready: Number(isServing),
    updated: Number(isUpdated(oldest, mark)),
    available: Number(isServing && isDaemonAvailable(serving, minReadySeconds, now)),
  };
}

interface StatusInput {
  set: DaemonSet;
  mark: UpdateMark;
  collisionCount: number;
  /** The plan was made for this generation and its revision exists. */
  observed: boolean;
  counts: Counts;
}

export function statusOf({ set, mark, collisionCount, observed, counts }: StatusInput): DaemonSetStatus {
  const unavailable = counts.desired - counts.available;
  const generation = observed ? set.metadata.generation : set.status?.observedGeneration;
  return {
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misscheduled,
    desiredNumberScheduled: counts.desired,
    numberReady: counts.ready,
    updatedNumberScheduled: counts.updated,
    ...(counts.available > 0 ? { numberAvailable: counts.available } : {}),
    ...(unavailable > 0 ? { numberUnavailable: unavailable } : {}),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    updateRevision: mark.hash,
    ...(collisionCount > 0 ? { collisionCount } : {}),
  };
}
