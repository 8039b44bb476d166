/**
 * Updates in place without the two writes of the readiness gate: one request a pod. The kubelet's own readiness tells
 * when a pod is back; until its new containers run it counts as not ready here, whatever its conditions say.
 * What is given up: nothing takes the pod out of its endpoints before its containers stop.
 */
import type { Pod } from "../../../kube/index.ts";
import type { Lifecycle } from "../lifecycle/lifecycle.ts";
import type { InPlaceChange } from "./change.ts";
import { isCompleted } from "./completion.ts";

/** On a workload, with the value `true`. */
const LEAN_ROLLOUT_ANNOTATION = "refit.dev/lean-rollout";
/** On a pod: the revision that it went to without its gate. */
export const LEAN_UPDATE_ANNOTATION = "refit.dev/lean-update";

/**
 * A grace period and hooks need the states that lean updates leave out, and minReadySeconds a time that a kubelet may
 * not write when a container restarts quickly: with any of them the annotation has no effect.
 */
export function isLean(
  annotations: Readonly<Record<string, string>> | undefined,
  strategy: { graceSeconds: number; minReadySeconds: number; lifecycle: Lifecycle | undefined },
): boolean {
  return (
    annotations?.[LEAN_ROLLOUT_ANNOTATION] === "true" &&
    strategy.graceSeconds === 0 &&
    strategy.minReadySeconds === 0 &&
    strategy.lifecycle?.inPlaceUpdate === undefined
  );
}

/**
 * Resources change while containers run, so that a kubelet's readiness says nothing about them. The agent restarts a
 * container for a new environment only while the gate is off; one with a new image restarts anyway.
 */
export function allowsLean({ images, resources, refMetadata }: InPlaceChange): boolean {
  if (Object.keys(resources).length > 0) return false;
  return Object.keys(refMetadata).every((container) => Object.hasOwn(images, container));
}

export function isLeanPending(pod: Pod): boolean {
  return LEAN_UPDATE_ANNOTATION in pod.annotations && !isCompleted(pod, { verticalScaling: true });
}
