export * from "./schema.ts";
export { validatePodProbeMarker } from "./validate.ts";
