/** What a pod's status says, in the terms in which rollouts count. Spec: cloneset 3, 4.1 rule 7. */
import type { Pod, PodCondition } from "../../kube/index.ts";
import { lifecycleState } from "./lifecycle.ts";

export const IN_PLACE_READY = "InPlaceUpdateReady";
export const KRUISE_READY = "KruisePodReady";

export function conditionOf(pod: Pod, type: string): PodCondition | undefined {
  for (const condition of pod.conditions) if (condition.type === type) return condition;
  return undefined;
}

/** Neither finished nor being deleted: the pods that count as replicas. */
export function isActive(pod: Pod): boolean {
  return pod.deletionAt === undefined && pod.phase !== "Succeeded" && pod.phase !== "Failed";
}

/** Running, Ready, and not held back by a gate of ours. */
export function isReady(pod: Pod): boolean {
  return (
    pod.phase === "Running" &&
    conditionOf(pod, "Ready")?.status === "True" &&
    conditionOf(pod, IN_PLACE_READY)?.status !== "False"
  );
}

/** When the pod became Ready, or undefined when it is not. Milliseconds since the epoch. */
export function readySince(pod: Pod): number | undefined {
  const ready = conditionOf(pod, "Ready");
  return ready?.status === "True" ? ready.lastTransitionAt : undefined;
}

/** Ready for long enough, and in a settled lifecycle state. */
export function isAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  const state = lifecycleState(pod);
  if (state !== "" && state !== "Normal") return false;
  if (!isReady(pod)) return false;
  if (minReadySeconds <= 0) return true;
  const since = readySince(pod);
  return since !== undefined && since + minReadySeconds * 1000 <= now;
}

/** Milliseconds until a ready pod has been ready long enough; 0 when it has, undefined when it is not ready. */
export function untilAvailable(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  if (!isReady(pod)) return undefined;
  const since = readySince(pod) ?? now;
  return Math.max(0, since + minReadySeconds * 1000 - now);
}

export function hasGate(pod: Pod, gate: string): boolean {
  return pod.readinessGates.includes(gate);
}

export function restarts(pod: Pod): number {
  let most = 0;
  for (const status of pod.containerStatuses) if (status.restartCount > most) most = status.restartCount;
  return most;
}
