import type { Subset } from "./child_manifest.ts";
import type { SubsetPods } from "./classify.ts";
import type { Schedulability } from "./schedulability.ts";
import type { SubsetWorkload } from "./workload.ts";

/** One subset while it is planned. */
export interface PlannedSubset {
  readonly subset: Subset;
  readonly child: SubsetWorkload | undefined;
  readonly pods: SubsetPods;
  readonly state: Schedulability;
  /** Undefined while the numbers cannot be met. */
  readonly replicas: number | undefined;
  readonly partition: number;
}
