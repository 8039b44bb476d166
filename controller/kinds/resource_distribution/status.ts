/** What a distribution reports. Pure. Spec: resourcedistribution 3, 4.4. */
import type { ResourceDistributionStatus } from "../../../crds/index.ts";
import { findCondition, formatTime } from "../../../kube/core/index.ts";
import { type FailureType, failureTypes } from "./plan.ts";

/** Namespaces by what failed there, with the reason of each. */
export type Failures = ReadonlyMap<FailureType, ReadonlyMap<string, string>>;

export interface Tally {
  /** Target namespaces, those included that do not exist. */
  readonly desired: number;
  /** Those of them that lack an up-to-date copy. */
  readonly failed: number;
  readonly failures: Failures;
}

/** Numbers that are zero are left out. `now`: milliseconds since the epoch. */
export function planStatus(
  { desired, failed, failures }: Tally,
  before: ResourceDistributionStatus | undefined,
  generation: number,
  now: number,
): ResourceDistributionStatus {
  return {
    ...counted("desired", desired),
    ...counted("succeeded", desired - failed),
    ...counted("failed", failed),
    observedGeneration: generation,
    conditions: failureTypes.map((type) => {
      const known = findCondition(before?.conditions, type);
      const reasons = failures.get(type) ?? noReasons;
      const status = reasons.size > 0 ? "True" : "False";
      const since = known?.status === status ? known.lastTransitionTime : undefined;
      const lastTransitionTime = since ?? formatTime(now);
      if (reasons.size === 0) return { type, status, reason: "Succeeded", lastTransitionTime };
      // In the order of names: that in which answers arrive would rewrite the status for nothing.
      const failedNamespaces = [...reasons.keys()].sort();
      const reason = reasons.get(failedNamespaces.at(-1) ?? "") ?? "";
      return { type, status, reason, failedNamespaces, lastTransitionTime };
    }),
  };
}

const noReasons: ReadonlyMap<string, string> = new Map();

function counted(name: "desired" | "succeeded" | "failed", count: number): ResourceDistributionStatus {
  return count === 0 ? {} : { [name]: count };
}
