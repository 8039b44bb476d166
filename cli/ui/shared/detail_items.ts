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

export interface EventItem {
  readonly is: "event";
  readonly isWarning: boolean;
  readonly reason: string;
  readonly message: string;
  /** Of what it is about. */
  readonly kind: string;
  readonly name: string;
  /** How often it happened. */
  readonly count: number;
  /** When it happened last; milliseconds since the epoch. */
  readonly at: number;
}

export interface RevisionItem {
  readonly is: "revision";
  readonly number: number;
  /** As pods name it. */
  readonly revision: string;
  readonly cause: string;
  readonly images: readonly string[];
  readonly createdAt?: number;
  /** Number of the revision that its changes are counted from; absent for the oldest. */
  readonly since?: number;
  readonly changes: readonly FieldChange[];
  /** Changes that are not among them. */
  readonly moreChanges: number;
}

export interface FieldChange {
  /** `template.spec.containers[web].image`. */
  readonly path: string;
  /** Empty for what was not there, or is not there any more. */
  readonly from: string;
  readonly to: string;
}

/** A ContainerRecreateRequest about one of the pods. */
export interface RecreateItem {
  readonly is: "recreate";
  readonly name: string;
  readonly pod: string;
  readonly node: string;
  /** Empty until the agent of the node takes it up. */
  readonly phase: string;
  readonly message: string;
  readonly containers: readonly { readonly name: string; readonly phase: string }[];
  /** When it was made; milliseconds since the epoch. */
  readonly since: number;
}

/** An ImagePullJob for an image of the workload. */
export interface PullItem {
  readonly is: "pull";
  readonly name: string;
  readonly image: string;
  /** Nodes. */
  readonly desired: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly message: string;
  readonly since?: number;
  /** Absent while it goes on. */
  readonly endedAt?: number;
  /** Those that do not have the image yet. */
  readonly nodes: readonly PullNode[];
  readonly moreNodes: number;
}

export interface PullNode {
  readonly node: string;
  /** Empty until the agent of the node takes it up; else Waiting, Pulling or Failed. */
  readonly phase: string;
  readonly message: string;
  /** Percentage. */
  readonly progress: number;
  readonly since?: number;
}

/** Of a UnitedDeployment, or of a WorkloadSpread. */
export interface SubsetItem {
  readonly is: "subset";
  /** `UnitedDeployment web`. */
  readonly of: string;
  readonly name: string;
  /** As the object says it: `50%`, `3`; empty for what takes the rest. */
  readonly given: string;
  /** Absent where it wants no number in particular, or does not tell it yet. */
  readonly wanted?: number;
  /** Absent where the pods of the page tell it. */
  readonly present?: number;
  /** It takes no further pods, because they cannot be scheduled there. */
  readonly isClosed: boolean;
}

/** Whose pods have sidecars of a SidecarSet. */
export interface OwnerItem {
  readonly is: "owner";
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly pods: number;
  /** Those that have the newest sidecars. */
  readonly updated: number;
  /** The newest first, then those of the most pods. */
  readonly versions: readonly {
    readonly version: string;
    readonly pods: number;
    readonly isNewest: boolean;
  }[];
}

/** A sidecar of a SidecarSet that has two containers in a pod, which take turns. */
export interface HotUpgradeItem {
  readonly is: "hotUpgrade";
  readonly namespace: string;
  readonly pod: string;
  /** As the set names it. */
  readonly sidecar: string;
  readonly step: HotStep;
  /** The first and the second container. */
  readonly slots: readonly HotSlot[];
}

/**
 * `starting`: the container with the new image is not ready yet; `handingOver`: it is, and the other one gets the empty image next;
 * `waiting`: the one that works has another image than the set; `rests`: it has that of the set.
 */
export type HotStep = "starting" | "handingOver" | "waiting" | "rests";

export interface HotSlot {
  readonly container: string;
  readonly image: string;
  /** Of the set when the container got its image: its resource version, `1` from the beginning, `0` at rest; empty where the pod does not tell. */
  readonly version: string;
  readonly isReady: boolean;
  readonly isWorking: boolean;
  /** It has the image that does nothing. */
  readonly isEmpty: boolean;
  /** It has the image of the set. */
  readonly isNew: boolean;
}

/** What of all this could not be read. */
export interface UnreadItem {
  readonly is: "unread";
  readonly what: readonly string[];
}

export type DetailItem =
  | RolloutItem
  | EventItem
  | RevisionItem
  | RecreateItem
  | PullItem
  | SubsetItem
  | OwnerItem
  | HotUpgradeItem
  | UnreadItem;

export const rolloutKey = "rollout";
export const unreadKey = "unread";
