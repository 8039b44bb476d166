export { unreadyAcquiredAnnotation } from "./convert.ts";
export * from "./names.ts";
export * from "./schema.ts";
