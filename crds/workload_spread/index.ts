export * from "./names.ts";
export * from "./patch_errors.ts";
export * from "./schema.ts";
export * from "./targets.ts";
export * from "./validate.ts";
