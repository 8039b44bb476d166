/** Reconciles a StatefulSet: what its plan sees in the caches, and who carries it out. */
import type { StatefulSet } from "../../../crds/index.ts";
import { compileSelector, keyOf } from "../../../kube/core/index.ts";
import type { Cache } from "../../../kube/index.ts";
import { type OwnerKey, ownerKeyOf } from "../../plan/owners.ts";
import { observeRollout } from "../../rollout/observe.ts";
import { claimantKeys, orphanKeys } from "../../rollout/pods/numbered_names.ts";
import { PodIndexes } from "../../rollout/pods/pod_indexes.ts";
import type { Performer } from "../../runtime/executor/perform.ts";
import type { Caches, KindDeps, ServerFeatures } from "../../runtime/kind.ts";
import type { ControllerOptions } from "../../runtime/options.ts";
import type { Reconciler } from "../../runtime/reconciler.ts";
import { WorkloadReconciler } from "../../runtime/workload_reconciler.ts";
import { SetIndex } from "./classify.ts";
import type { StatefulSetOptions } from "./observe.ts";
import { planStatefulSet } from "./plan.ts";
import type { StatefulSetObserved } from "./state.ts";
import { statefulSetState } from "./state.ts";

export function statefulSetReconciler(deps: KindDeps<StatefulSet>): Reconciler<StatefulSet> {
  const options = statefulSetOptions(deps.options, deps.server);
  const indexes = setIndexes(deps.caches, deps.objects);
  return new WorkloadReconciler(deps, {
    forget: ({ owner }) => indexes.forget(owner),
    plan: (set, { performer, now, random, memory }) => {
      const observed = observe(set, deps.caches, performer, options, indexes);
      return planStatefulSet(statefulSetState({ observed, options, now, random, memory }));
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

/** Plain data from the caches; costs what has changed, not what the set owns. */
export function observe(
  set: StatefulSet,
  caches: Caches,
  performer: Pick<Performer, "pending" | "failures">,
  options: StatefulSetOptions,
  indexes: PodIndexes<SetIndex>,
): StatefulSetObserved {
  const { namespace = "" } = set.metadata;
  return {
    ...observeRollout(set, compileSelector(set.spec.selector), caches, performer, options),
    pods: indexes.of(ownerKeyOf(set.metadata), () => newIndex(set, caches, performer)),
    podNamed: (name) => caches.pods.get(`${namespace}/${name}`),
    claimNamed: (name) => caches.claims.get(`${namespace}/${name}`),
  };
}

/** Pods of nobody and claims are known to be a set's by nothing else than their name. */
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

function newIndex(
  { metadata }: StatefulSet,
  { pods, owned }: Pick<Caches, "pods" | "owned">,
  performer: Pick<Performer, "pending">,
): SetIndex {
  const { uid = "", name = "", namespace = "" } = metadata;
  const owner = ownerKeyOf(metadata);
  return new SetIndex({
    uid,
    name,
    pods: () => [...owned.pods.of(owner), ...pods.byIndex("orphan", keyOf({ namespace, name }))],
    pod: (pod) => pods.get(keyOf({ namespace, name: pod })),
    inFlight: () => performer.pending(owner),
  });
}
