/** Status of a DaemonSet. Spec: daemonset 3. */
import type { DaemonSet, DaemonSetStatus } from "../../crds/index.ts";
import type { Pod } from "../../kube/index.ts";
import { readySince } from "../rollout/pod_state.ts";
import type { DaemonView } from "./classify.ts";
import type { NodeEligibility } from "./eligibility.ts";
import { isDaemonAvailable, isUpdated, type UpdateMark } from "./observe.ts";

/** Nodes, by what is on them. */
export type StatusCount = "desired" | "current" | "misscheduled" | "ready" | "updated" | "available";

/**
 * What one node counts as. `pods` are as the server last showed them, oldest first. Of several one is counted: what
 * serves is told by the oldest that is not on its way out, so that a surge never seems to lose a node; what is up to
 * date by the oldest of all, so that it rises when the old pod is gone.
 */
export function statusCounts(
  eligibility: NodeEligibility,
  pods: readonly Pod[],
  { mark, minReadySeconds, now }: { mark: UpdateMark; minReadySeconds: number; now: number },
): StatusCount[] {
  const [oldest] = pods;
  if (eligibility !== "run") return oldest === undefined ? [] : ["misscheduled"];
  if (oldest === undefined) return ["desired"];
  const serving = pods.length === 1 ? oldest : (pods.find((pod) => pod.deletionAt === undefined) ?? oldest);
  const counts: StatusCount[] = ["desired", "current"];
  if (isUpdated(oldest, mark)) counts.push("updated");
  if (readySince(serving) === undefined) return counts;
  counts.push("ready");
  if (isDaemonAvailable(serving, minReadySeconds, now)) counts.push("available");
  return counts;
}

interface StatusInput {
  set: DaemonSet;
  mark: UpdateMark;
  collisionCount: number;
  /** The plan was made for this generation and its revision exists. */
  observed: boolean;
  pods: Pick<DaemonView, "count">;
}

export function statusOf({ set, mark, collisionCount, observed, pods }: StatusInput): DaemonSetStatus {
  const available = pods.count("available");
  const unavailable = pods.count("desired") - available;
  const generation = observed ? set.metadata.generation : set.status?.observedGeneration;
  return {
    currentNumberScheduled: pods.count("current"),
    numberMisscheduled: pods.count("misscheduled"),
    desiredNumberScheduled: pods.count("desired"),
    numberReady: pods.count("ready"),
    updatedNumberScheduled: pods.count("updated"),
    ...(available > 0 ? { numberAvailable: available } : {}),
    ...(unavailable > 0 ? { numberUnavailable: unavailable } : {}),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    updateRevision: mark.hash,
    ...(collisionCount > 0 ? { collisionCount } : {}),
  };
}
