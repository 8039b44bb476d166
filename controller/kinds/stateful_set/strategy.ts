/** What a StatefulSet asks for, with every default filled in, and what a pod counts as. Spec: statefulset 4.1, 4.2. */
import type { PersistentVolumeClaim as ClaimTemplate, StatefulSet } from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { type ChangeOptions, policyOf, type UpdatePolicy } from "../../rollout/in_place/change.ts";
import { isLean } from "../../rollout/in_place/lean.ts";
import type { InPlaceOptions } from "../../rollout/in_place/update.ts";
import { type Lifecycle, type LifecycleState, lifecycleState } from "../../rollout/lifecycle/lifecycle.ts";
import type { PriorityStrategy } from "../../rollout/order/order.ts";
import { reservedRanges, Window } from "../../rollout/pods/ordinals.ts";
import { isAvailable, isReady, SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import { budgetOf } from "./numbers.ts";

export const REVISION_LABEL = "controller-revision-hash";
export const POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name";
export const POD_INDEX_LABEL = "apps.kubernetes.io/pod-index";
/** On claims that grow with their set: their changes enqueue it. */
export const OWNED_BY_ANNOTATION = "apps.kruise.io/owned-by-asts";

/** Everything that is not in the object: gates and flags, resolved once. */
export interface StatefulSetOptions extends InPlaceOptions, ChangeOptions {
  preparingUpdateAsUpdate: boolean;
  /** Gate StatefulSetStartOrdinal. */
  startOrdinal: boolean;
  /** Gate StatefulSetAutoDeletePVC. */
  deletesClaims: boolean;
  /** Gate StatefulSetAutoResizePVCGate. */
  resizesClaims: boolean;
  /** Gate PodIndexLabel. */
  podIndexLabel: boolean;
  /** Image pull jobs ahead of updates: gate on and the kind served. */
  preDownload: boolean;
}

/** The strategy with every default filled in: objects stored before admission ran may lack them. */
export interface StatefulSetStrategy {
  replicas: number;
  /** Ordinals that are to exist. */
  window: Window;
  /** OrderedReady: one pod after the other. */
  ordered: boolean;
  onDelete: boolean;
  paused: boolean;
  partition: number;
  maxUnavailable: number;
  /** Pods that may be unavailable while creating; Infinity when unset. */
  scaleMaxUnavailable: number;
  policy: UpdatePolicy;
  minReadySeconds: number;
  graceSeconds: number;
  lean: boolean;
  /** Update by priority; undefined: by ordinal. */
  unordered: { priority: PriorityStrategy | undefined } | undefined;
  lifecycle: Lifecycle | undefined;
  claimTemplates: readonly ClaimTemplate[];
  deleteClaims: { whenScaled: boolean; whenDeleted: boolean };
  /** Claims grow with their templates during a rolling update. */
  resizesClaims: boolean;
}

/** The part of the strategy that follows from the object alone. */
export function statefulSetRolloutOf({
  spec,
}: StatefulSet): Pick<
  StatefulSetStrategy,
  "replicas" | "ordered" | "onDelete" | "paused" | "partition" | "maxUnavailable"
> {
  const replicas = Math.max(0, spec.replicas ?? 1);
  const onDelete = spec.updateStrategy?.type === "OnDelete";
  const rolling = onDelete ? {} : (spec.updateStrategy?.rollingUpdate ?? {});
  const ordered = spec.podManagementPolicy !== "Parallel";
  return {
    replicas,
    ordered,
    onDelete,
    paused: rolling.paused ?? false,
    partition: Math.max(0, rolling.partition ?? 0),
    maxUnavailable: ordered ? 1 : budgetOf(rolling.maxUnavailable, replicas),
  };
}

export function statefulSetStrategyOf(set: StatefulSet, options: StatefulSetOptions): StatefulSetStrategy {
  const { spec } = set;
  const rollout = statefulSetRolloutOf(set);
  const { replicas, ordered } = rollout;
  const rolling = rollout.onDelete ? {} : (spec.updateStrategy?.rollingUpdate ?? {});
  const scaling = spec.scaleStrategy?.maxUnavailable;
  const retention = options.deletesClaims ? spec.persistentVolumeClaimRetentionPolicy : undefined;
  const start = options.startOrdinal ? Math.max(0, spec.ordinals?.start ?? 0) : 0;
  const graceSeconds = Math.max(0, rolling.inPlaceUpdateStrategy?.gracePeriodSeconds ?? 0);
  const minReadySeconds = Math.max(0, rolling.minReadySeconds ?? 0);
  const priority = rolling.unorderedUpdate?.priorityStrategy;
  return {
    ...rollout,
    window: new Window(start, replicas, reservedRanges(spec.reserveOrdinals)),
    scaleMaxUnavailable:
      ordered || scaling === undefined || scaling === null
        ? Number.POSITIVE_INFINITY
        : budgetOf(scaling, replicas),
    policy: policyOf(rolling.podUpdatePolicy),
    minReadySeconds,
    graceSeconds,
    lean: isLean(set.metadata.annotations, { graceSeconds, minReadySeconds, lifecycle: spec.lifecycle }),
    unordered: !ordered && rolling.unorderedUpdate ? { priority } : undefined,
    lifecycle: spec.lifecycle,
    claimTemplates: spec.volumeClaimTemplates ?? [],
    deleteClaims: {
      whenScaled: retention?.whenScaled === "Delete",
      whenDeleted: retention?.whenDeleted === "Delete",
    },
    resizesClaims: options.resizesClaims && spec.volumeClaimUpdateStrategy?.type === "OnPodRollingUpdate",
  };
}

/** A pod of the set with what every decision asks of it. */
export interface StatefulSetMember {
  pod: Pod;
  ordinal: number;
  inWindow: boolean;
  /** At the update revision. */
  updated: boolean;
  ready: boolean;
  /** Deletion is not considered. */
  available: boolean;
  terminating: boolean;
  /** Failed or Succeeded. */
  finished: boolean;
  state: LifecycleState;
  /** Chosen for deletion by label. */
  specified: boolean;
  /** A write is in flight, or the pod is still to be adopted. */
  busy: boolean;
}

/** The ordinal in a pod's name; undefined when the pod cannot be one of the set's. */
export function ordinalOf(setName: string, podName: string): number | undefined {
  if (!podName.startsWith(`${setName}-`)) return undefined;
  const digits = podName.slice(setName.length + 1);
  return /^(0|[1-9]\d{0,9})$/.test(digits) ? Number(digits) : undefined;
}

/** `stored`: as the server shows it; a write of ours that makes a pod available counts once it is stored, not before. */
export function memberOf(
  pod: Pod,
  stored: Pod,
  ordinal: number,
  busy: boolean,
  { window, minReadySeconds }: StatefulSetStrategy,
  updateRevision: string,
  now: number,
): StatefulSetMember {
  return {
    pod,
    ordinal,
    inWindow: window.has(ordinal),
    updated: pod.labels[REVISION_LABEL] === updateRevision,
    ready: isReady(pod),
    available: isAvailable(pod, minReadySeconds, now) && isAvailable(stored, minReadySeconds, now),
    terminating: pod.deletionAt !== undefined,
    finished: pod.phase === "Failed" || pod.phase === "Succeeded",
    state: lifecycleState(pod),
    specified: SPECIFIED_DELETE in pod.labels,
    busy,
  };
}

export function claimName(template: ClaimTemplate, setName: string, ordinal: number): string {
  return `${template.metadata?.name ?? ""}-${setName}-${ordinal}`;
}
