/** CloneSet: stateless pods, updated in place, chosen for deletion, rolled out in portions. */
export type { CloneSetOptions, Seen } from "./observe.ts";
export { type PlanInput, planCloneSet } from "./plan.ts";
export { cloneSetOptions, cloneSetShell } from "./reconcile.ts";
export { Roster as CloneSetRoster } from "./roster.ts";
