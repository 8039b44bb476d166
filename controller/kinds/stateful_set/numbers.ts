/** The budget of a StatefulSet in absolute numbers. Spec: statefulset 4.4 rule 14, 4.6. */
import { type IntOrString, scaledValue } from "../../../kube/core/index.ts";

/** A number, or a percentage of the replicas rounded down; at least 1, also for text that is no number. */
export function budgetOf(value: IntOrString | undefined | null, replicas: number): number {
  if (value === undefined || value === null) return 1;
  try {
    return Math.max(1, scaledValue(value, replicas, false));
  } catch {
    return 1;
  }
}
