export * from "./canonical.ts";
export { defaultFieldRef, defaultSidecarContainer } from "./container_defaults.ts";
export * from "./defaults.ts";
export * from "./image_reference.ts";
export * from "./metadata_env.ts";
export * from "./null_values.ts";
export * from "./pod_resources.ts";
export * from "./validation/index.ts";
export { defaultVolume } from "./volume_defaults.ts";
