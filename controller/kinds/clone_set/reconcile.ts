/** Reconciles a CloneSet: observes it in the caches, plans, and says who carries the plan out. */
import type { CloneSet } from "../../../crds/index.ts";
import { PodIndexes } from "../../rollout/pods/pod_indexes.ts";
import type { KindDeps, ServerFeatures } from "../../runtime/kind.ts";
import type { ControllerOptions } from "../../runtime/options.ts";
import type { Reconciler } from "../../runtime/reconciler.ts";
import { WorkloadReconciler } from "../../runtime/workload_reconciler.ts";
import type { CloneIndex } from "./classify.ts";
import { observeCloneSet } from "./observe.ts";
import { planCloneSet } from "./plan.ts";
import { cloneSetState } from "./state.ts";
import type { CloneSetOptions } from "./strategy.ts";

export function cloneSetReconciler(deps: KindDeps<CloneSet>): Reconciler<CloneSet> {
  const options = cloneSetOptions(deps.options, deps.server);
  const indexes = new PodIndexes<CloneIndex>(deps.caches.pods);
  return new WorkloadReconciler(deps, {
    forget: ({ owner }) => indexes.forget(owner),
    plan: (set, { performer, now, random, memory }) => {
      const observed = observeCloneSet(set, deps.caches, options, { writes: performer, indexes });
      return planCloneSet(cloneSetState({ observed, options, now, random, memory, explains: false }));
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
