/** What a plan for a ContainerRecreateRequest sees, and what it wants done. */
import type { ContainerRecreateRequest } from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import type { KindEffect } from "../../plan/effects.ts";
import type { ConditionChange } from "../../rollout/writes/pod_patch.ts";

export interface RecreateRequestObserved {
  readonly request: ContainerRecreateRequest;
  /** The pod of the request's label; undefined when it is missing, terminating, or another one has its name. */
  readonly pod: Pod | undefined;
  /** Whether the pod's changes enqueue the request; else it has to look for itself. */
  readonly watched: boolean;
}

/** In the order of the list; what follows one that failed is not carried out. */
export type RecreateAction =
  | KindEffect
  | {
      readonly type: "set pod conditions";
      readonly conditions: readonly ConditionChange[];
      readonly annotations: Readonly<Record<string, string | null>>;
    };

export interface RecreatePlan {
  readonly effects: readonly RecreateAction[];
  /** Milliseconds until time alone changes the plan. */
  readonly requeueAfterMs?: number;
}
