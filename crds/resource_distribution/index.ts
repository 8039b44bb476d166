export {
  contentOf,
  type DistributedContent,
  type DistributedKind,
  distributedKinds,
} from "./content.ts";
export * from "./schema.ts";
export * from "./validate.ts";
