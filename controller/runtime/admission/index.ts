/** Admission and conversion: server, certificates, webhook configurations. */
export { renewBefore, servingNames } from "./certificates/certificate_set.ts";
export { generateCertificates } from "./certificates/generate.ts";
export * from "./certificates/keeper.ts";
export * from "./certificates/store.ts";
export * from "./cluster_trust.ts";
export * from "./readiness.ts";
export type { Refusal } from "./refusals.ts";
export * from "./request.ts";
export * from "./server.ts";
export * from "./settings.ts";
export * from "./webhook_configurations.ts";
export * from "./webhooks.ts";
