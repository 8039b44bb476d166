/** Labels and annotations on a CloneSet that stand for fields in one of its versions. Spec: cloneset 2. */

/** Value "true": pods held before deletion do not count. Field excludePreparingDelete of v1beta1. */
export const excludePreparingDeleteLabel = "apps.kruise.io/cloneset-scaling-exclude-preparing-delete";

/** Settings of the pre-download of images, by their field in v1beta1. */
export const preDownloadAnnotations = {
  imagePreDownloadParallelism: "apps.kruise.io/image-predownload-parallelism",
  imagePreDownloadTimeoutSeconds: "apps.kruise.io/image-predownload-timeout-seconds",
  imagePreDownloadMinUpdatedReadyPods: "apps.kruise.io/image-predownload-min-updated-ready-pods",
} as const;

/** Values of podUpdatePolicy (v1beta1) and updateStrategy.type (v1alpha1). */
export const podUpdatePolicies = ["ReCreate", "InPlaceIfPossible", "InPlaceOnly"] as const;
