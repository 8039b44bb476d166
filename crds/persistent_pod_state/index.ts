export * from "./names.ts";
export * from "./schema.ts";
export {
  groupOf,
  isStatefulSet,
  sameTarget,
  type TargetReference,
  validatePersistentPodState,
} from "./validate.ts";
