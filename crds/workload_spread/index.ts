export * from "./names.ts";
export * from "./schema.ts";
export * from "./targets.ts";
