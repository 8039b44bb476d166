export * from "./admission.ts";
export * from "./schema.ts";
