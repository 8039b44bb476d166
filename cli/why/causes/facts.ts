/** What was read about one object and its pods: all that causes are worked out from. Absent means that it could not be read. */
import type { ConditionFacts, PodFacts } from "./pod_facts.ts";

export interface EventFacts {
  readonly isWarning: boolean;
  readonly reason: string;
  readonly message: string;
  /** When it happened last; milliseconds since the epoch. */
  readonly at: number;
  readonly firstAt: number;
  /** How often it happened. */
  readonly count: number;
}

export interface NodeFacts {
  /** False for a node whose object is gone. */
  readonly exists: boolean;
  readonly ready: ConditionFacts | undefined;
}

export interface ClaimFacts {
  readonly exists: boolean;
  readonly phase: string;
  /** The newest warning about it. */
  readonly warning: string;
}

/** A ContainerRecreateRequest that has not ended. */
export interface RecreateFacts {
  readonly name: string;
  readonly uid: string;
  /** Of the pod that it is about, as `identityOf` gives it. */
  readonly pod: string;
  readonly containers: readonly string[];
  /** Empty until the node's agent takes it up. */
  readonly phase: string;
  readonly message: string;
  readonly createdAt: number | undefined;
}

export interface LeaseFacts {
  /** `kruise-system/kruise-manager`. */
  readonly key: string;
  /** Empty: nobody holds it. */
  readonly holder: string;
  readonly renewedAt: number | undefined;
  readonly durationMs: number;
}

export interface SubjectFacts {
  /** As on command lines, `cloneset.apps.kruise.io/web`. */
  readonly name: string;
  /** Empty for one of the whole cluster. */
  readonly namespace: string;
  readonly uid: string;
  readonly createdAt: number | undefined;
  readonly deletionAt: number | undefined;
  readonly finalizers: readonly string[];
  readonly generation: number;
  /** Undefined for a kind that does not report it. */
  readonly observedGeneration: number | undefined;
  readonly conditions: ReadonlyMap<string, ConditionFacts>;
  /** Of its status, by the names of subsets; `WorkloadSpread` and `UnitedDeployment` have them. */
  readonly subsets: ReadonlyMap<string, ReadonlyMap<string, ConditionFacts>>;
  /** Seconds that a pod must be ready to count as available. */
  readonly minReadySeconds: number;
}

/** A PodUnavailableBudget of the namespace that refused something. */
export interface BudgetFacts {
  readonly name: string;
  /** Of its status; undefined where it cannot be read. */
  readonly counts:
    | { readonly available: number; readonly desired: number; readonly total: number }
    | undefined;
  /** Pods of the subject of which it refused a deletion, eviction or update, and when it did so last. */
  readonly refusedPods: ReadonlyMap<string, number>;
}

export interface Facts {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly subject: SubjectFacts;
  /** Those that are not at rest. */
  readonly pods: readonly PodFacts[];
  /** All of them. */
  readonly podCount: number;
  /** When the youngest of all its pods was made: refusals before that are over. */
  readonly newestPodAt: number | undefined;
  /** Newest first: of the object and of the workloads between it and its pods. */
  readonly events: readonly EventFacts[];
  /** Newest first: of the pod, or of one in the same state. */
  eventsOf(pod: PodFacts): readonly EventFacts[];
  node(name: string): NodeFacts | undefined;
  claim(namespace: string, name: string): ClaimFacts | undefined;
  /** The last line that a container of the pod, or of one in the same state, wrote before it ended. */
  lastLine(pod: PodFacts, container: string): string | undefined;
  readonly requests: readonly RecreateFacts[];
  readonly budgets: readonly BudgetFacts[];
  /** Of the controller of its kind. */
  readonly leases: readonly LeaseFacts[] | undefined;
  /** Whether the agent of a node is ready; a node without an entry has none. */
  readonly agents: ReadonlyMap<string, boolean> | undefined;
}
