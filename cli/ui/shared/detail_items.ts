/** What the server tells of one workload beside its pods and the answer. Keys begin with the kind of item. */

/** How far a rollout may go. */
export interface RolloutItem {
  readonly is: "rollout";
  /** The whole of it first; then subsets that have a partition of their own. */
  readonly scales: readonly RolloutScale[];
  readonly hooks: readonly LifecycleHook[];
  /** Pods get the new revision only when somebody deletes them. */
  readonly isOnDelete: boolean;
}

export interface RolloutScale {
  /** `partition`, or `partition of subset a`; empty where nothing is kept back. */
  readonly label: string;
  /** As the object says it: `50%`, `20`; empty without a partition. */
  readonly given: string;
  readonly total: number;
  /** Pods that stay at the old revision. */
  readonly kept: number;
  /** Absent where the status does not count them. */
  readonly updated?: number;
}

export interface LifecycleHook {
  readonly name: "preDelete" | "inPlaceUpdate" | "preNormal";
  /** Labels and finalizers that hold a pod there: `example.com/ready=false`. */
  readonly handlers: readonly string[];
}

export type DetailItem = RolloutItem;

export const rolloutKey = "rollout";
