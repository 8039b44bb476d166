/** The budget of a StatefulSet in absolute numbers. Spec: statefulset 4.4 rule 14, 4.6. */
import type { IntOrString } from "../../../kube/core/index.ts";
import { amountOf } from "../../rollout/order/amounts.ts";

/** A number, or a percentage of the replicas rounded down; at least 1, also for text that is no number. */
export function budgetOf(value: IntOrString | undefined | null, replicas: number): number {
  return Math.max(1, amountOf(value, replicas, false) ?? 1);
}
