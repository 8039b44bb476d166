export * from "./schema.ts";
export { validateEphemeralJob } from "./validate.ts";
