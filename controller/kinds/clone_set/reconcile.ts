/** Reconciles a CloneSet: what its plan sees in the caches, and who carries it out. */
import type { CloneSet } from "../../../crds/index.ts";
import { compileSelector, keyOf } from "../../../kube/core/index.ts";
import { ownerKeyOf } from "../../plan/owners.ts";
import { observeRollout } from "../../rollout/observe.ts";
import { PodIndexes } from "../../rollout/pods/pod_indexes.ts";
import type { Performer } from "../../runtime/executor/perform.ts";
import type { Caches, KindDeps, ServerFeatures } from "../../runtime/kind.ts";
import type { ControllerOptions } from "../../runtime/options.ts";
import type { Reconciler } from "../../runtime/reconciler.ts";
import { WorkloadReconciler } from "../../runtime/workload_reconciler.ts";
import { CloneIndex } from "./classify.ts";
import type { CloneSetOptions } from "./observe.ts";
import { planCloneSet } from "./plan.ts";
import type { CloneSetObserved } from "./state.ts";
import { cloneSetState } from "./state.ts";

export function cloneSetReconciler(deps: KindDeps<CloneSet>): Reconciler<CloneSet> {
  const options = cloneSetOptions(deps.options, deps.server);
  const indexes = new PodIndexes<CloneIndex>(deps.caches.pods);
  return new WorkloadReconciler(deps, {
    forget: ({ owner }) => indexes.forget(owner),
    plan: (set, { performer, now, random, memory }) => {
      const observed = observe(set, deps.caches, performer, options, indexes);
      return planCloneSet(cloneSetState({ observed, options, now, random, memory }));
    },
  });
}

/** Which gate and which ability of the server decides what: the only place that says so. */
export function cloneSetOptions(
  {
    gates,
    excludePreparingDelete,
    keepManagedFields,
  }: Pick<ControllerOptions, "gates" | "excludePreparingDelete" | "keepManagedFields">,
  server: ServerFeatures,
): CloneSetOptions {
  return {
    shortHash: gates.CloneSetShortHash,
    partitionRollback: gates.CloneSetPartitionRollback,
    preparingUpdateAsUpdate: gates.PreparingUpdateAsUpdate,
    recreateOnClaimChange: gates.RecreatePodWhenChangeVCTInCloneSetGate,
    envFromMetadata: gates.InPlaceUpdateEnvFromMetadata,
    verticalScaling: gates.InPlaceWorkloadVerticalScaling,
    resizeSubresource: server.resizeSubresource,
    resetsManagers: !keepManagedFields,
    excludePreparingDelete,
    preDownload: gates.PreDownloadImageForInPlaceUpdate && server.imagePullJobs,
  };
}

/** Plain data from the caches. A set's index is made by its first pass, and hears of every change from then on. */
function observe(
  set: CloneSet,
  caches: Caches,
  performer: Pick<Performer, "pending" | "failures">,
  options: CloneSetOptions,
  indexes: PodIndexes<CloneIndex>,
): CloneSetObserved {
  const owner = ownerKeyOf(set.metadata);
  return {
    ...observeRollout(set, compileSelector(set.spec.selector), caches, performer, options),
    pods: indexes.of(owner, () => newIndex(set, caches, performer)),
    claims: [...caches.owned.claims.of(owner)],
    nodeLabels: (node) => caches.nodes.get(node)?.labels,
  };
}

function newIndex(
  { metadata }: CloneSet,
  { pods, owned }: Pick<Caches, "pods" | "owned">,
  performer: Pick<Performer, "pending">,
): CloneIndex {
  const { uid = "", namespace = "" } = metadata;
  const owner = ownerKeyOf(metadata);
  return new CloneIndex({
    pods: () => owned.pods.of(owner),
    pod: (name) => {
      const pod = pods.get(keyOf({ namespace, name }));
      return pod?.controller?.uid === uid ? pod : undefined;
    },
    inFlight: () => performer.pending(owner),
  });
}
