/** CloneSet: stateless pods, updated in place, chosen for deletion, rolled out in portions. */
export type { CloneSetOptions, Seen } from "./observe.ts";
export { type PlanInput, planCloneSet } from "./plan.ts";
export { cloneSetOptions, cloneSetShell, observe as observeCloneSet } from "./reconcile.ts";
