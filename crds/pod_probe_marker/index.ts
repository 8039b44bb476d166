export * from "./schema.ts";
export * from "./validate.ts";
