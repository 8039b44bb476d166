/** What a plan of a DaemonSet gets, and what it works out before it decides. Spec: daemonset 2, 4.1 to 4.3, 4.10. */
import type { DaemonSet } from "../../../crds/index.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import type { ObservedRollout, PlanInput, PlanState } from "../../rollout/state.ts";
import type { PendingPods } from "../../rollout/writes/pending_pods.ts";
import type { DaemonIndex, DaemonNode, DaemonView } from "./classify.ts";
import { findRevision, type RevisionSearch } from "./revisions.ts";
import {
  availabilityOf,
  type DaemonSetOptions,
  type DaemonSetStrategy,
  daemonSetStrategyOf,
  templateGeneration,
  type UpdateMark,
} from "./strategy.ts";

export interface DaemonSetObserved extends ObservedRollout<DaemonSet> {
  /** Nodes and pods. */
  readonly pods: DaemonIndex;
  /** Whether a pod of the namespace has the name, or is being created under it. */
  isTaken(name: string): boolean;
  /** Milliseconds until a failed pod of the node may be replaced; 0 when it may be now. */
  failedPodWaitMs(node: string): number;
}

export interface DaemonSetState
  extends Readonly<RevisionSearch>,
    PlanState<DaemonSetObserved, DaemonSetOptions, DaemonSetStrategy, DaemonView> {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly mark: UpdateMark;
  /** Of the pods: nodes to look at, names ascending; a node that does not exist is none of them. */
  readonly open: readonly DaemonNode[];
  /** Writes that are under way. */
  readonly inFlight: Pick<PendingPods, "counts">;
}

/** Brings the index of nodes up to now, for one plan: its view is good until the next event. */
export function daemonSetState({
  observed,
  options,
  now,
  random,
  explains = true,
  memory = new PlanMemory(),
}: PlanInput<DaemonSetObserved, DaemonSetOptions>): DaemonSetState {
  const { set } = observed;
  const { namespace = "", name = "", uid = "" } = set.metadata;
  const revisions = findRevision(set, observed.revisions, observed.revisionData, memory);
  const mark = { hash: revisions.hash, generation: templateGeneration(set) };
  const { minReadySeconds } = availabilityOf(set);
  const pods = observed.pods.refresh({ mark, minReadySeconds, options, refreshed: memory.refreshed, now });
  return {
    ...revisions,
    observed,
    options,
    strategy: daemonSetStrategyOf(set, pods.count("desired")),
    namespace,
    name,
    uid,
    now,
    random,
    explains,
    mark,
    pods,
    open: [...pods.entries(pods.groups.open)],
    inFlight: observed.pods.source.inFlight(),
  };
}
