/** Why a pod with the labels of a SidecarSet is not one of its pods. Spec: sidecarset, rule 29. */
import { injectedListAnnotation, parseInjectedList } from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import type { ClassifyContext } from "./classify.ts";
import { memberOf } from "./rollout.ts";

export type UnmanagedReason =
  /** Has ended, or is being deleted. */
  | "inactive"
  /** In a namespace that the set is not for. */
  | "namespace"
  /** Created before the set, while injection was paused, or for a canary. */
  | "not injected"
  /** Injected, but without all containers that the set has now. */
  | "lacks containers";

/** Undefined for a pod that the set manages. The pod's labels match the set's selector. */
export function unmanagedReason(
  pod: Pod,
  { rollout, namespaces }: ClassifyContext,
): UnmanagedReason | undefined {
  if (!isActive(pod)) return "inactive";
  if (!namespaces.has(pod.namespace)) return "namespace";
  if (memberOf(pod, false, rollout) !== undefined) return undefined;
  const injected = parseInjectedList(pod.annotations[injectedListAnnotation]);
  return injected.includes(rollout.name) ? "lacks containers" : "not injected";
}
