/** Actions on one pod as every kind makes them. */
import type { Pod } from "../../../kube/index.ts";
import type { InPlaceStep } from "../in_place/update.ts";
import type { Action, Concern, Waiting } from "./actions.ts";
import { afterChange, type PodChange, podPatch } from "./pod_patch.ts";

export type PodAction = Extract<Action, { type: "patch pod" }>;

/** One request that moves labels, annotations and conditions together: the status subresource takes all three. */
export function patchPod(pod: Pod, change: PodChange, now: number, concern: Concern): PodAction {
  const status = (change.conditions ?? []).length > 0;
  const step = podPatch(pod, change, now, {
    ...(status ? { subresource: "status" as const } : {}),
    resourceVersion: pod.resourceVersion,
  });
  return { type: "patch pod", pod, write: { steps: [step], after: afterChange(pod, change, now) }, concern };
}

/** A pod waits for its node, or for time, before its update in place goes on. */
export function waitingInPlace(pod: Pod, step: Extract<InPlaceStep, { kind: "waiting" }>): Waiting {
  return {
    reason: step.reason,
    message: `pod ${pod.name} waits for ${step.for}`,
    until: step.requeueAfterMs === undefined ? "the node reports it" : "the time is over",
    pods: [pod.name],
  };
}

export function waitingForHook(pod: Pod, hook: "preDelete" | "inPlaceUpdate" | "preNormal"): Waiting {
  return {
    reason: "Hook",
    message: `pod ${pod.name} is held by the ${hook} hook`,
    until:
      hook === "preNormal"
        ? "every handler of the hook is on the pod"
        : "the handlers of the hook are off the pod",
    pods: [pod.name],
  };
}
