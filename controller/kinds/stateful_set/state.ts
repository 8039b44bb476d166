/** What a plan of a StatefulSet gets, and what it works out before it decides. Spec: statefulset 4.1, 4.2. */
import type { StatefulSet } from "../../../crds/index.ts";
import type { Selector } from "../../../kube/core/index.ts";
import type { PersistentVolumeClaim, Pod } from "../../../kube/index.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import {
  type ObservedRollout,
  type PlanInput,
  type PlanState,
  type RolloutRevisions,
  rolloutRevisions,
} from "../../rollout/state.ts";
import { type Reach, reachOf } from "./order.ts";
import type { SetView } from "./slots.ts";
import { type StatefulSetOptions, type StatefulSetStrategy, statefulSetStrategyOf } from "./strategy.ts";

export interface StatefulSetObserved extends ObservedRollout<StatefulSet> {
  /** Owned pods, and those without a controller whose name is one of this set's; writes in flight are applied to them. */
  readonly pods: { refresh(context: StatefulSetContext): SetView };
  /** Any cached pod of the namespace. */
  readonly podNamed: (name: string) => Pod | undefined;
  readonly claimNamed: (name: string) => PersistentVolumeClaim | undefined;
  /** By a write of ours that is not answered. */
  readonly isClaimWritten: (name: string) => boolean;
  /** How many pods more may be decided now: the others follow once those under way are created. */
  readonly creationRoom: number;
}

export interface StatefulSetState
  extends RolloutRevisions,
    PlanState<StatefulSetObserved, StatefulSetOptions, StatefulSetStrategy, SetView> {
  readonly selector: Selector;
  /** Pods known to need no refresh; a pod's projection never changes, so this outlives passes. */
  readonly refreshed: WeakMap<Pod, boolean>;
  /** What the rolling update wants changed. */
  readonly reach: Reach;
}

/** What pods are classified by. */
export type StatefulSetContext = Omit<StatefulSetState, "pods" | "reach">;

/** Brings the index of pods up to now, for one plan: its view is good until the next event. */
export function statefulSetState({
  observed,
  options,
  now,
  random,
  explains = true,
  memory = new PlanMemory(),
}: PlanInput<StatefulSetObserved, StatefulSetOptions>): StatefulSetState {
  const context: StatefulSetContext = {
    ...rolloutRevisions(observed, memory),
    observed,
    options,
    strategy: statefulSetStrategyOf(observed.set, options),
    now,
    random,
    explains,
    selector: observed.selector,
    refreshed: memory.refreshed,
  };
  const pods = observed.pods.refresh(context);
  return { ...context, pods, reach: reachOf(pods, context) };
}
