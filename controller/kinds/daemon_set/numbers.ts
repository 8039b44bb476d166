/** Budgets of a DaemonSet in absolute numbers. Spec: daemonset 2, rules 20, 24, 32. */
import type { IntOrString } from "../../../kube/core/index.ts";
import { amountOf } from "../../rollout/order/amounts.ts";

/** What the API takes when nothing is said; also for text that is neither a number nor a percentage. */
const DEFAULT_BURST = 250;

/** Of `desired` nodes, rounded up; 0 when unset or not readable. */
export function budgetOf(value: IntOrString | undefined | null, desired: number): number {
  return Math.max(0, amountOf(value, desired, true) ?? 0);
}

/** Nodes that stay at an old revision: a percentage is rounded down. */
export function partitionOf(value: IntOrString | undefined | null, desired: number): number {
  return Math.max(0, amountOf(value, desired, false) ?? 0);
}

/** Pods to create, delete or update at once. A percentage never stops everything, a plain 0 does. */
export function burstOf(value: IntOrString | undefined | null, desired: number): number {
  const burst = amountOf(value, desired, false) ?? DEFAULT_BURST;
  return typeof value === "string" ? Math.max(1, burst) : Math.max(0, burst);
}
