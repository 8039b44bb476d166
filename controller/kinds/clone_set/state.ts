/** What a plan of a CloneSet gets, and what it works out before it decides. Spec: cloneset 4.1, rules 5 to 7. */
import type { CloneSet } from "../../../crds/index.ts";
import type { Labels } from "../../../kube/core/index.ts";
import type { PersistentVolumeClaim, Pod } from "../../../kube/index.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import { sameRevision } from "../../rollout/revisions/revisions.ts";
import {
  type ObservedRollout,
  type PlanInput,
  type PlanState,
  type RolloutRevisions,
  rolloutRevisions,
} from "../../rollout/state.ts";
import { type CloneIndex, type CloneView, memberCounts } from "./classify.ts";
import { type Numbers, numbersOf } from "./numbers.ts";
import type { Topology } from "./order.ts";
import { type CloneSetOptions, type CloneSetStrategy, cloneSetStrategyOf } from "./strategy.ts";

export interface CloneSetObserved extends ObservedRollout<CloneSet> {
  /** Owned pods, inactive ones included; writes in flight are already applied to them. */
  readonly pods: CloneIndex;
  readonly claims: readonly PersistentVolumeClaim[];
  /** Of any owner. */
  readonly claimNamed: (name: string) => PersistentVolumeClaim | undefined;
  /** The set's own, or nobody's. */
  readonly podNamed: (name: string) => Pod | undefined;
  /** How many pods more may be decided now: the others follow once those under way are created. */
  readonly creationRoom: number;
  /** Labels of a node, for topology spread. */
  readonly nodeLabels: (node: string) => Labels | undefined;
}

export interface CloneSetState
  extends RolloutRevisions,
    PlanState<CloneSetObserved, CloneSetOptions, CloneSetStrategy, CloneView> {
  readonly numbers: Numbers;
  readonly topology: Topology;
}

/** Brings the index of pods up to now, for one plan: its view is good until the next event. */
export function cloneSetState({
  observed,
  options,
  now,
  random,
  explains = true,
  memory = new PlanMemory(),
}: PlanInput<CloneSetObserved, CloneSetOptions>): CloneSetState {
  const revisions = rolloutRevisions(observed, memory);
  const { update, current } = revisions;
  const strategy = cloneSetStrategyOf(observed.set, options);
  const pods = observed.pods.refresh({
    updateRevision: update.name,
    strategy,
    selector: observed.selector,
    selectorText: JSON.stringify(observed.set.spec.selector),
    options,
    now,
    refreshed: memory.refreshed,
  });
  const numbers = numbersOf(strategy.limits, memberCounts(pods), {
    rollback: options.partitionRollback && !sameRevision(update.name, current.name),
    excludePreparingDelete: strategy.excludePreparingDelete,
    preparingUpdateAsUpdate: options.preparingUpdateAsUpdate,
  });
  return {
    ...revisions,
    observed,
    options,
    strategy,
    now,
    random,
    explains,
    pods,
    numbers,
    topology: topologyOf(observed),
  };
}

function topologyOf({ set, nodeLabels }: CloneSetObserved): Topology {
  const constraints = set.spec.template.spec["topologySpreadConstraints"];
  const keys = Array.isArray(constraints)
    ? constraints
        .map((constraint: { topologyKey?: string }) => constraint.topologyKey ?? "")
        .filter((key) => key !== "")
    : [];
  return { keys, nodeLabels };
}
