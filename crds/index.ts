/** The kinds of the API: schema, types, defaults, validation, conversion between versions, definitions. */
export { defaultAdvancedCronJob } from "./advanced_cron_job/default.ts";
export {
  everFires,
  type FieldValues,
  parseSchedule,
  type Schedule,
} from "./advanced_cron_job/schedule.ts";
export * from "./advanced_cron_job/schema.ts";
export { validateAdvancedCronJob } from "./advanced_cron_job/validate.ts";
export { advancedCronJobWarnings } from "./advanced_cron_job/warnings.ts";
export { defaultBroadcastJob } from "./broadcast_job/default.ts";
export * from "./broadcast_job/schema.ts";
export {
  broadcastJobNameLabel,
  broadcastJobUidLabel,
  parallelismOf,
  validateBroadcastJob,
} from "./broadcast_job/validate.ts";
export { convertCloneSet } from "./clone_set/convert.ts";
export { defaultCloneSet } from "./clone_set/default.ts";
export * from "./clone_set/names.ts";
export * from "./clone_set/schema.ts";
export {
  type CloneSetValidation,
  type FoundPod,
  newPodsToDelete,
  validateCloneSet,
} from "./clone_set/validate.ts";
export {
  syncContainerStatusesAnnotation,
  unreadyAcquiredAnnotation,
} from "./container_recreate_request/convert.ts";
export * from "./container_recreate_request/names.ts";
export * from "./container_recreate_request/schema.ts";
export * from "./convert.ts";
export { progressiveCreateAnnotation } from "./daemon_set/convert.ts";
export { defaultDaemonSet } from "./daemon_set/default.ts";
export * from "./daemon_set/schema.ts";
export { type DaemonSetValidation, validateDaemonSet } from "./daemon_set/validate.ts";
export * from "./definition.ts";
export * from "./ephemeral_job/schema.ts";
export { validateEphemeralJob } from "./ephemeral_job/validate.ts";
export * from "./errors.ts";
export type { TemplateDefaulting } from "./fill.ts";
export * from "./image_list_pull_job/admission.ts";
export * from "./image_list_pull_job/schema.ts";
export * from "./image_pull_job/admission.ts";
export * from "./image_pull_job/schema.ts";
export {
  defaultPullBackoffLimit,
  defaultPullParallelism,
  defaultPullTimeoutSeconds,
} from "./image_pull_settings.ts";
export * from "./kind.ts";
export * from "./kind_reader.ts";
export * from "./kinds.ts";
export * from "./node_image/admission.ts";
export * from "./node_image/schema.ts";
export * from "./node_pod_probe/schema.ts";
export * from "./persistent_pod_state/names.ts";
export * from "./persistent_pod_state/schema.ts";
export {
  groupOf,
  isStatefulSet,
  sameTarget,
  type TargetReference,
  validatePersistentPodState,
} from "./persistent_pod_state/validate.ts";
export * from "./pod_probe_marker/schema.ts";
export { validatePodProbeMarker } from "./pod_probe_marker/validate.ts";
export * from "./pod_template.ts";
export * from "./pod_unavailable_budget/names.ts";
export * from "./pod_unavailable_budget/schema.ts";
export { validatePodUnavailableBudget } from "./pod_unavailable_budget/validate.ts";
export * from "./readers.ts";
export * from "./resource_distribution/schema.ts";
export { customVersionLabel } from "./sidecar_set/convert.ts";
export * from "./sidecar_set/schema.ts";
export { defaultStatefulSet } from "./stateful_set/default.ts";
export * from "./stateful_set/schema.ts";
export { type StatefulSetValidation, validateStatefulSet } from "./stateful_set/validate.ts";
export {
  type FoundStorageClass,
  type StorageClassLookup,
  storageClassNames,
} from "./stateful_set/validate_claims.ts";
export { structuralErrors } from "./structure.ts";
export * from "./united_deployment/schema.ts";
export * from "./workload_spread/schema.ts";
