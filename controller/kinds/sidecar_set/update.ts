/** Bringing pods to the present sidecars. Spec: sidecarset, rules 33 to 36, 43. */
import { counted, type IntOrString } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import type { Decisions } from "../../rollout/decisions.ts";
import { membersOf } from "../../rollout/pods/pod_view.ts";
import type { Waiting } from "../../rollout/writes/actions.ts";
import { type SidecarView, usesBudget } from "./classify.ts";
import { InjectionError } from "./injection/sidecars.ts";
import { keptByPartition, mostUnavailable } from "./numbers.ts";
import { updateOrder } from "./order.ts";
import { patchedMetadata, resetAction, updateAction } from "./pod_update.ts";
import type { SidecarSetMember } from "./rollout.ts";
import type { SidecarSetState } from "./state.ts";

/** Puts containers to rest that have handed over. Returns how many pods use the budget from now on and did not before. */
export function planResets({ pods, target, now }: SidecarSetState, decisions: Decisions): number {
  let disrupted = 0;
  for (const member of membersOf(pods.entries(pods.groups.toReset))) {
    if (!decisions.isFree(member)) continue;
    decisions.take(resetAction(member, target.rollout, now));
    if (!usesBudget(member)) disrupted++;
  }
  return disrupted;
}

/**
 * Rule 35: pods that are not ready are updated at once, others as far as the budget goes. `disrupted`: pods that this pass
 * disrupts already.
 */
export function planUpdate(state: SidecarSetState, decisions: Decisions, disrupted: number): void {
  const { pods, strategy } = state;
  const { candidates } = pods.groups;
  const total = pods.count("member");
  const wanted = candidates.size - keptByPartition(strategy.partition, total);
  if (wanted <= 0) {
    if (candidates.size > 0) decisions.wait(partitionWaiting(candidates.size, strategy.partition));
    return;
  }
  const most = mostUnavailable(strategy.maxUnavailable, total);
  let used = pods.count("unavailable") + disrupted;
  let read = 0;
  for (const member of updateOrder(candidates, () => everyPod(pods), strategy)) {
    if (read++ >= wanted) break;
    if (member.ready && used >= most) {
      decisions.wait(budgetWaiting(wanted - read + 1, most));
      break;
    }
    if (decisions.isFree(member) && !updateMember(state, decisions, member)) continue;
    if (member.ready) used++;
  }
}

/** False for a pod whose metadata cannot be patched: it stays as it is, and keeps no other pod waiting. */
function updateMember(
  { observed: { set }, target, now }: SidecarSetState,
  decisions: Decisions,
  member: SidecarSetMember,
): boolean {
  const { pod } = member;
  try {
    const metadata = patchedMetadata(pod, set.spec.patchPodMetadata ?? [], target.rollout.name);
    decisions.take(updateAction(member, target, metadata, now));
    return true;
  } catch (error) {
    if (!(error instanceof InjectionError)) throw error;
    decisions.wait({
      reason: "PodMetadata",
      message: `pod ${pod.name} cannot be updated: ${error.message}`,
      until: "the annotation of the pod or the patch of the set is changed",
      pods: [pod.name],
    });
    return false;
  }
}

function* everyPod(pods: SidecarView): Generator<Pod> {
  for (const { pod } of membersOf(pods.every())) yield pod;
}

function partitionWaiting(count: number, partition: IntOrString = 0): Waiting {
  return {
    reason: "Partition",
    message: `${counted(count, "pod keeps its", "pods keep their")} old sidecars by partition ${partition}`,
    until: "partition is lowered",
  };
}

function budgetWaiting(count: number, most: number): Waiting {
  return {
    reason: "Budget",
    message: `${counted(count, "pod waits", "pods wait")}: maxUnavailable is ${most}`,
    until: "pods that were updated become ready",
  };
}
