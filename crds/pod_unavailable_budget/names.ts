/** Names of PodUnavailableBudget on itself and on pods. Spec: protection A5. */
import type { Labels } from "../../kube/core/index.ts";

/** On a pod: the budget that protects it; the second is an older name, written too. */
export const relatedBudgetAnnotation = "pub.kruise.io/related-pub";
export const oldRelatedBudgetAnnotation = "kruise.io/related-pub";

/** On a pod: a true value takes it out of the protection. */
export const noProtectAnnotation = "pub.kruise.io/no-protect";

/** A pod with any label that begins so counts as unavailable. */
const unavailableLabelPrefix = "unavailable-pod.kruise.io/";

export function hasUnavailableLabel(labels: Labels): boolean {
  return Object.keys(labels).some((key) => key.startsWith(unavailableLabelPrefix));
}

/** What `protectOperations` may name. */
export const protectedOperations: readonly string[] = ["DELETE", "UPDATE", "EVICT", "RESIZE"];

/** In v1alpha1, what v1beta1 has fields for. */
export const protectOperationsAnnotation = "kruise.io/pub-protect-operations";
export const protectTotalReplicasAnnotation = "pub.kruise.io/protect-total-replicas";
