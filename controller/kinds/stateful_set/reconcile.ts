/** Reconciles a StatefulSet: observes it in the caches, plans, and says who carries the plan out. */
import type { StatefulSet } from "../../../crds/index.ts";
import type { Cache } from "../../../kube/index.ts";
import { type OwnerKey, ownerKeyOf } from "../../plan/owners.ts";
import { claimantKeys, orphanKeys } from "../../rollout/pods/numbered_names.ts";
import { PodIndexes } from "../../rollout/pods/pod_indexes.ts";
import type { Caches, KindDeps, ServerFeatures } from "../../runtime/kind.ts";
import type { ControllerOptions } from "../../runtime/options.ts";
import type { Reconciler } from "../../runtime/reconciler.ts";
import { WorkloadReconciler } from "../../runtime/workload_reconciler.ts";
import type { SetIndex } from "./classify.ts";
import { observeStatefulSet } from "./observe.ts";
import { planStatefulSet } from "./plan.ts";
import { statefulSetState } from "./state.ts";
import type { StatefulSetOptions } from "./strategy.ts";

export function statefulSetReconciler(deps: KindDeps<StatefulSet>): Reconciler<StatefulSet> {
  const options = statefulSetOptions(deps.options, deps.server);
  const indexes = setIndexes(deps.caches, deps.objects);
  return new WorkloadReconciler(deps, {
    forget: ({ owner }) => indexes.forget(owner),
    plan: (set, { performer, now, random, memory }) => {
      const observed = observeStatefulSet(set, deps.caches, options, { writes: performer, indexes });
      return planStatefulSet(statefulSetState({ observed, options, now, random, memory, explains: false }));
    },
  });
}

/** Which gate and which ability of the server decides what: the only place that says so. */
export function statefulSetOptions(
  { gates, keepManagedFields }: Pick<ControllerOptions, "gates" | "keepManagedFields">,
  server: ServerFeatures,
): StatefulSetOptions {
  return {
    preparingUpdateAsUpdate: gates.PreparingUpdateAsUpdate,
    envFromMetadata: gates.InPlaceUpdateEnvFromMetadata,
    verticalScaling: gates.InPlaceWorkloadVerticalScaling,
    resizeSubresource: server.resizeSubresource,
    resetsManagers: !keepManagedFields,
    startOrdinal: gates.StatefulSetStartOrdinal,
    deletesClaims: gates.StatefulSetAutoDeletePVC,
    resizesClaims: gates.StatefulSetAutoResizePVCGate,
    podIndexLabel: gates.PodIndexLabel,
    preDownload: gates.PreDownloadImageForInPlaceUpdate && server.imagePullJobs,
  };
}

/** Pods that nobody controls, and claims, are known to be a set's by their name alone. */
export function setIndexes(
  { pods, claims }: Pick<Caches, "pods" | "claims">,
  sets: Pick<Cache<StatefulSet>, "get">,
): PodIndexes<SetIndex> {
  const ownersAt = (keys: readonly string[]): OwnerKey[] =>
    keys.flatMap((key) => {
      const set = sets.get(key);
      return set === undefined ? [] : ownerKeyOf(set.metadata);
    });
  const indexes = new PodIndexes<SetIndex>(pods, (pod) => ownersAt(orphanKeys(pod)));
  claims.subscribe(({ object }) => {
    for (const owner of ownersAt(claimantKeys(object))) indexes.get(owner)?.claimChanged(object.name);
  });
  return indexes;
}
