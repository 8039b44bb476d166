export * from "./default.ts";
export * from "./schema.ts";
export * from "./validate.ts";
