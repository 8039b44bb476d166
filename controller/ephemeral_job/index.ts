/** EphemeralJob: ephemeral containers in running pods. */
export { validateEphemeralJobRequest } from "./admit.ts";
export { ephemeralJobShell } from "./reconcile.ts";
