export { planPersistentPodState } from "./plan.ts";
export { persistentPodStateShell } from "./reconcile.ts";
