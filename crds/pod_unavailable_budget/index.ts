export * from "./names.ts";
export * from "./schema.ts";
export { validatePodUnavailableBudget } from "./validate.ts";
