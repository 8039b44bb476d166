export * from "./hash.ts";
export * from "./names.ts";
export * from "./pod_annotations.ts";
export * from "./resource_expressions.ts";
export * from "./revision_data.ts";
export * from "./schema.ts";
