export { defaultDaemonSet } from "./default.ts";
export * from "./schema.ts";
export { type DaemonSetValidation, validateDaemonSet } from "./validate.ts";
