export { defaultStatefulSet } from "./default.ts";
export * from "./schema.ts";
export * from "./validate.ts";
export {
  type FoundStorageClass,
  type StorageClassLookup,
  storageClassNames,
} from "./validate_claims.ts";
