/** What a pod's status says, in the terms in which rollouts count. Spec: cloneset 3, 4.1 rule 7. */
import type { Pod, PodCondition } from "../../../kube/index.ts";
import { isLeanPending } from "../in_place/lean.ts";
import { lifecycleState } from "../lifecycle/lifecycle.ts";

/** Label of a pod that its workload is to replace. Spec: cloneset 2, statefulset 4, rule 31. */
export const SPECIFIED_DELETE = "apps.kruise.io/specified-delete";

export const IN_PLACE_READY = "InPlaceUpdateReady";
export const KRUISE_READY = "KruisePodReady";

export function conditionOf(pod: Pod, type: string): PodCondition | undefined {
  for (const condition of pod.conditions) if (condition.type === type) return condition;
  return undefined;
}

/** Whether a gate of ours holds the pod: a kubelet that does not know of it yet may write `Ready` True once more. */
function isHeld(pod: Pod): boolean {
  if (conditionOf(pod, IN_PLACE_READY)?.status === "False") return true;
  return hasGate(pod, KRUISE_READY) && conditionOf(pod, KRUISE_READY)?.status === "False";
}

/** Neither finished nor being deleted: the pods that count as replicas. */
export function isActive(pod: Pod): boolean {
  return pod.deletionAt === undefined && pod.phase !== "Succeeded" && pod.phase !== "Failed";
}

/** Running, Ready, and not held back by a gate of ours. */
export function isReady(pod: Pod): boolean {
  return pod.phase === "Running" && readySince(pod) !== undefined && !isHeld(pod) && !isLeanPending(pod);
}

/** When the condition Ready became True, or undefined when it is not. Milliseconds since the epoch. */
export function readySince(pod: Pod): number | undefined {
  const ready = conditionOf(pod, "Ready");
  return ready?.status === "True" ? ready.lastTransitionAt : undefined;
}

/** Ready for long enough, and in a settled lifecycle state. */
export function isAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  const state = lifecycleState(pod);
  if ((state !== "" && state !== "Normal") || !isReady(pod)) return false;
  return minReadySeconds <= 0 || (readySince(pod) ?? now) + minReadySeconds * 1000 <= now;
}

/** Milliseconds until a ready pod has been ready long enough; 0 when it has, undefined when it is not ready. */
export function untilAvailable(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  return isReady(pod) ? Math.max(0, (readySince(pod) ?? now) + minReadySeconds * 1000 - now) : undefined;
}

export function hasGate(pod: Pod, gate: string): boolean {
  return pod.readinessGates.includes(gate);
}

/** Of the container that restarted most. */
export function restarts(pod: Pod): number {
  let most = 0;
  for (const status of pod.containerStatuses) if (status.restartCount > most) most = status.restartCount;
  return most;
}
