/** DaemonSet: a pod on each suitable node, in place, in portions, or with a second pod for the change. */

export { nodeVerdicts } from "./eligibility.ts";
export type { DaemonSetOptions, Seen as DaemonSetSeen } from "./observe.ts";
export { type DaemonSetPlan, planDaemonSet } from "./plan.ts";
export { daemonSetOptions, daemonSetShell } from "./reconcile.ts";
export { Roster as DaemonSetRoster } from "./roster.ts";
