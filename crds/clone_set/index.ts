export { defaultCloneSet } from "./default.ts";
export * from "./names.ts";
export * from "./schema.ts";
export {
  type CloneSetValidation,
  type FoundPod,
  newPodsToDelete,
  validateCloneSet,
} from "./validate.ts";
