/** Names of WorkloadSpread on other objects, and in its own status. Spec: workloadspread 5. */

/** On a pod: JSON with `name`, `subset` and, for a pod that had no name yet, `uid`. */
export const matchedWorkloadSpreadAnnotation = "apps.kruise.io/matched-workloadspread";

/** On a WorkloadSpread: `true` keeps `patch.metadata` off pods that were there before it. */
export const ignorePatchOfExistingPodsAnnotation =
  "workloadspread.kruise.io/ignore-patch-existing-pods-metadata";

/** Condition of a subset. */
export const schedulableCondition = "Schedulable";
