/** What a plan of a PersistentPodState sees: plain data, read from the caches. Spec: persistentpodstate 4. */
import type { PersistentPodState, StatefulSet } from "../../../crds/index.ts";
import type { Labels } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import type { NativeStatefulSet } from "../../native/stateful_set.ts";
import { type OrdinalRange, reservedRanges } from "../../rollout/pods/ordinals.ts";

/** The workload whose pods are recorded. */
export interface Target {
  uid: string;
  terminating: boolean;
  replicas: number;
  /** First ordinal. */
  start: number;
  reserved: readonly OrdinalRange[];
}

export interface PersistentPodStateObserved {
  object: PersistentPodState;
  /** Undefined when there is none. */
  target: Target | undefined;
  /** Pods that the target owns, finished and terminating ones included. */
  pods: readonly Pod[];
  /** Undefined for a node that is not known. */
  nodeLabels: (name: string) => Labels | undefined;
}

export interface PersistentPodStateOptions {
  /** Gate StatefulSetStartOrdinal: Advanced StatefulSets may start at another ordinal than 0. */
  startOrdinal: boolean;
}

export function advancedTarget(set: StatefulSet, options: PersistentPodStateOptions): Target {
  return {
    uid: set.metadata.uid ?? "",
    terminating: set.metadata.deletionTimestamp !== undefined,
    replicas: set.spec.replicas ?? 1,
    start: options.startOrdinal ? (set.spec.ordinals?.start ?? 0) : 0,
    reserved: reservedRanges(set.spec.reserveOrdinals),
  };
}

export function nativeTarget(set: NativeStatefulSet): Target {
  return {
    uid: set.metadata.uid ?? "",
    terminating: set.metadata.deletionTimestamp !== undefined,
    replicas: set.replicas,
    start: set.start,
    reserved: [],
  };
}
