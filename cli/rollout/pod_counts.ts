/** How many pods a workload of any kind wants, has updated, and has available. Pure. */
import { type AnyObject, countAt, numberAt } from "../fields.ts";

export interface PodCounts {
  readonly desired: number;
  readonly updated: number;
  readonly available: number;
}

/** By its status. Kinds count under different names; a job counts pods that succeeded. */
export function podCounts({ spec, status }: AnyObject & { spec?: unknown; status?: unknown }): PodCounts {
  const first = (...names: readonly string[]): number =>
    names.map((name) => numberAt(status, name)).find((count) => count !== undefined) ?? 0;
  const desired =
    numberAt(spec, "replicas") ??
    numberAt(spec, "completions") ??
    first("desiredNumberScheduled", "matchedPods", "desired");
  const succeeded = numberAt(status, "succeeded");
  return {
    desired,
    updated: succeeded ?? first("updatedReplicas", "updatedNumberScheduled", "updatedPods"),
    available:
      succeeded === undefined
        ? first("availableReplicas", "numberAvailable", "readyReplicas", "numberReady", "readyPods", "active")
        : succeeded + countAt(status, "active"),
  };
}
