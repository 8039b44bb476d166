/** What a node counts as in the status of a DaemonSet. Spec: daemonset 3. */
import type { Pod } from "../../../kube/index.ts";
import { readySince } from "../../rollout/pods/pod_state.ts";
import type { NodeEligibility } from "./eligibility.ts";
import { isDaemonAvailable, isUpdated, type UpdateMark } from "./strategy.ts";

/** Nodes, by what is on them. */
export type StatusCount = "desired" | "current" | "misscheduled" | "ready" | "updated" | "available";

/**
 * What one node counts as. `pods` are as the server last showed them, oldest first. Of several one is counted: what
 * serves is decided by the oldest that is not on its way out, so that a surge never seems to lose a node; what is up to
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
