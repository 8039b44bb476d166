export * from "./hash.ts";
export * from "./names.ts";
export * from "./schema.ts";
