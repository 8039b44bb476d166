/** The kinds of the API: schema, types, defaults, validation, conversion between versions, definitions. */

export * from "./advanced_cron_job/index.ts";
export * from "./broadcast_job/index.ts";
export * from "./clone_set/index.ts";
export * from "./container_recreate_request/index.ts";
export * from "./convert.ts";
export * from "./daemon_set/index.ts";
export * from "./definition.ts";
export * from "./ephemeral_job/index.ts";
export * from "./errors.ts";
export type { TemplateDefaulting } from "./fill.ts";
export * from "./image_list_pull_job/index.ts";
export * from "./image_pull_job/index.ts";
export {
  defaultPullBackoffLimit,
  defaultPullParallelism,
  defaultPullTimeoutSeconds,
} from "./image_pull_settings.ts";
export * from "./kind.ts";
export * from "./kind_reader.ts";
export * from "./kinds.ts";
export * from "./node_image/index.ts";
export * from "./node_pod_probe/index.ts";
export * from "./persistent_pod_state/index.ts";
export * from "./pod_probe_marker/index.ts";
export * from "./pod_template.ts";
export * from "./pod_unavailable_budget/index.ts";
export { newComplaint } from "./ratchet.ts";
export * from "./resource_distribution/index.ts";
export * from "./revised.ts";
export * from "./sidecar_set/index.ts";
export * from "./stateful_set/index.ts";
export { structuralErrors } from "./structure.ts";
export { sameAsTyped } from "./typed_equality.ts";
export * from "./united_deployment/index.ts";
export { unknownFields } from "./unknown_fields.ts";
export { wireStruct } from "./wire_types.ts";
export * from "./workload_spread/index.ts";
