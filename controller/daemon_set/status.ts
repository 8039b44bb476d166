/** Status of a DaemonSet. Spec: daemonset 3. */
import type { DaemonSet, DaemonSetStatus } from "../../crds/index.ts";
import type { Pod } from "../../kube/index.ts";
import { readySince } from "../rollout/pod_state.ts";
import type { Verdict } from "./eligibility.ts";
import { isDaemonAvailable, isUpdated, type UpdateMark } from "./observe.ts";

export interface StatusInput {
  set: DaemonSet;
  mark: UpdateMark;
  collisionCount: number;
  /** The plan was made for this generation and its revision exists. */
  observed: boolean;
  minReadySeconds: number;
  /** Nodes with their verdict and their pods as the server last showed them, oldest first. */
  nodes: Iterable<{ verdict: Verdict; pods: readonly Pod[] }>;
  now: number;
}

/**
 * Of several pods on a node one is counted. What serves is judged by the oldest that is not on its way out, so that a
 * surge never seems to lose a node; what is up to date by the oldest of all, so that it rises when the old pod is gone.
 */
export function statusOf(input: StatusInput): DaemonSetStatus {
  const { set, mark, minReadySeconds, now } = input;
  const counts = { desired: 0, current: 0, misscheduled: 0, ready: 0, updated: 0, available: 0 };
  for (const { verdict, pods } of input.nodes) {
    const [oldest] = pods;
    if (verdict !== "run") {
      counts.misscheduled += Number(oldest !== undefined);
      continue;
    }
    counts.desired++;
    if (oldest === undefined) continue;
    counts.current++;
    counts.updated += Number(isUpdated(oldest, mark));
    const serving = pods.length === 1 ? oldest : (pods.find((pod) => pod.deletionAt === undefined) ?? oldest);
    if (readySince(serving) === undefined) continue;
    counts.ready++;
    counts.available += Number(isDaemonAvailable(serving, minReadySeconds, now));
  }
  const unavailable = counts.desired - counts.available;
  const generation = input.observed ? set.metadata.generation : set.status?.observedGeneration;
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
    ...(input.collisionCount > 0 ? { collisionCount: input.collisionCount } : {}),
  };
}
