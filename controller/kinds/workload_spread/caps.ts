/** How many pods a subset takes. Spec: workloadspread 2, 4.1 rule 6. */
import type { WorkloadSpreadSubset } from "../../../crds/index.ts";
import { isPercentage, ParseError, scaledValue } from "../../../kube/core/index.ts";

/** `missingReplicas` of a subset that takes any number of pods. */
export const UNLIMITED = -1;

/**
 * Most pods of the subset: a percentage of the workload's `size` is rounded up, and is 0 of a size that is not known (-1).
 * Undefined for any number. What cannot be read, which admission refuses, lets no pod in.
 */
export function capOf({ maxReplicas }: WorkloadSpreadSubset, size: number): number | undefined {
  if (maxReplicas === undefined || maxReplicas === null) return undefined;
  try {
    return Math.max(0, scaledValue(maxReplicas, Math.max(0, size), true));
  } catch (error) {
    if (error instanceof ParseError) return 0;
    throw error;
  }
}

/** Whether the cap follows the workload's size. */
export function isRelative({ maxReplicas }: WorkloadSpreadSubset): boolean {
  return typeof maxReplicas === "string" && isPercentage(maxReplicas);
}

/** Room in a subset: what is left of its cap beside `taken` pods, of which some may be over it. */
export function roomIn(cap: number | undefined, taken: number): number {
  return cap === undefined ? UNLIMITED : Math.min(cap, Math.max(0, cap - taken));
}
