import type { Pod } from "../../kube/index.ts";
import type { Subset } from "./child_manifest.ts";
import type { Schedulability } from "./schedulability.ts";
import type { SubsetWorkload } from "./workload.ts";

/** One subset while it is planned. */
export interface PlannedSubset {
  readonly subset: Subset;
  readonly child: SubsetWorkload | undefined;
  readonly pods: readonly Pod[];
  readonly state: Schedulability;
  /** Undefined while the numbers cannot be met. */
  readonly replicas: number | undefined;
  readonly partition: number;
}
