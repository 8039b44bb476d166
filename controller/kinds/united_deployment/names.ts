/** Names on the wire. Spec: uniteddeployment 5. */

/** On workloads and their pods: full name of the revision that they were made from. */
export const REVISION_LABEL = "apps.kruise.io/controller-revision-hash";
/** On workloads and their pods. */
export const SUBSET_LABEL = "apps.kruise.io/subset-name";
/** On pods, in reserve mode: `true` or `false`. */
export const RESERVED_LABEL = "apps.kruise.io/united-deployment-reserved-pod";
/** On workloads: the patch that they were made with, as JSON. */
export const PATCH_ANNOTATION = "apps.kruise.io/subset-patch";
