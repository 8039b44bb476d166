/** What the observer knows of the kinds that own pods: where their specs say what. Written from the API's documents alone. */
import type { StoredObject } from "../../sandbox/index.ts";
import { amountAt, at, listAt, numberAt } from "./fields.ts";

export interface WorkloadKind {
  readonly resource: string;
  /** Pods that are wanted; undefined where nodes decide. */
  replicas(spec: unknown): number | undefined;
  /** The most that may be out of service, however a percentage is rounded. */
  maxUnavailable(spec: unknown, replicas: number): number;
  /** Pods beyond the replicas that an update may make, at most. */
  maxSurge(spec: unknown, replicas: number): number;
  /** Pods that stay at an earlier revision. */
  partition(spec: unknown, replicas: number): number;
  isPaused(spec: unknown): boolean;
  /** It takes back a pod whose owner was removed. */
  readonly adopts: boolean;
}

/** In the stored versions. */
const rolling = ["spec", "updateStrategy", "rollingUpdate"];

function workload(resource: string, unavailable: number | string): WorkloadKind {
  const below = rolling;
  return {
    resource,
    replicas: (object) =>
      resource.startsWith("daemonsets") ? undefined : numberAt(object, "spec", "replicas"),
    maxUnavailable(object, replicas) {
      const given = amountAt(object, [...below, "maxUnavailable"], replicas, Math.ceil, -1);
      const most =
        given >= 0 ? given : typeof unavailable === "number" ? unavailable : Math.ceil(replicas * 0.2);
      return Math.max(most, numberAt(object, ...below, "maxSurge") > 0 ? 0 : 1);
    },
    maxSurge: (object, replicas) => amountAt(object, [...below, "maxSurge"], replicas, Math.ceil, 0),
    partition(object, replicas) {
      const kept = amountAt(
        object,
        [...below, "partition"],
        replicas,
        resource.startsWith("daemonsets") ? Math.floor : Math.ceil,
        0,
      );
      // A percentage below 100 lets one pod go.
      const isAll = kept >= replicas && replicas > 1 && resource.startsWith("clonesets");
      const given = at(object, ...below, "partition");
      return isAll && typeof given === "string" && given !== "100%" ? replicas - 1 : Math.min(kept, replicas);
    },
    isPaused: (object) => at(object, ...below, "paused") === true,
    adopts: !resource.startsWith("clonesets"),
  };
}

/** By kind, for objects of the group apps.kruise.io. */
export const workloads: Readonly<Record<string, WorkloadKind>> = {
  CloneSet: workload("clonesets.apps.kruise.io", "20%"),
  StatefulSet: workload("statefulsets.apps.kruise.io", 1),
  DaemonSet: workload("daemonsets.apps.kruise.io", 1),
};

/** Named alone, or within a range such as "1-3" (spec statefulset, rules 2 and 3). */
export function isReserved(workload: StoredObject, ordinal: number): boolean {
  return listAt(workload, "spec", "reserveOrdinals").some((entry) => {
    const [, first, last] = /^(\d+)-(\d+)$/.exec(String(entry)) ?? [];
    return first === undefined ? entry === ordinal : Number(first) <= ordinal && ordinal <= Number(last);
  });
}

/** Of a StatefulSet: whether a pod of this ordinal belongs to it. */
export function hasOrdinal(workload: StoredObject, ordinal: number): boolean {
  const first = numberAt(workload, "spec", "ordinals", "start");
  let left = numberAt(workload, "spec", "replicas");
  for (let each = first; left > 0; each++) {
    if (isReserved(workload, each)) continue;
    if (each === ordinal) return true;
    left -= 1;
  }
  return false;
}

export function ordinalOf(pod: StoredObject): number {
  return Number(/-(\d+)$/.exec(pod.metadata.name ?? "")?.[1] ?? Number.NaN);
}
