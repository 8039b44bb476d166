/** Names of PodUnavailableBudget on itself and on pods. Spec: protection A5. */

/** On a pod: the budget that protects it; the second is an older name, written too. */
export const relatedBudgetAnnotation = "pub.kruise.io/related-pub";
export const oldRelatedBudgetAnnotation = "kruise.io/related-pub";

/** On a pod: a true value takes it out of the protection. */
export const noProtectAnnotation = "pub.kruise.io/no-protect";

/** A pod with any label that begins so counts as unavailable. */
export const unavailableLabelPrefix = "unavailable-pod.kruise.io/";

/** In v1alpha1, what v1beta1 has fields for. */
export const protectOperationsAnnotation = "kruise.io/pub-protect-operations";
export const protectTotalReplicasAnnotation = "pub.kruise.io/protect-total-replicas";
