/** Pods by their owner, kept up to date: what every built-in workload looks at. */
import { findCondition } from "../../kube/core/index.ts";
import type { Cluster, ClusterChange, StoredObject } from "../cluster.ts";
import { follow } from "../cluster_loop.ts";
import { controllerOf, isFinished, isPod, isPodReady, type PodObject, timeOf } from "../objects/index.ts";

export class PodIndex {
  /** By namespace and UID: an owner has nothing in another namespace. */
  readonly #byOwner = new Map<string, Map<string, PodObject>>();
  readonly #orphans = new Map<string, Map<string, PodObject>>();
  readonly #listeners = new Set<(pod: PodObject, ownerUid: string | undefined) => void>();
  readonly stop: () => void;

  constructor(cluster: Cluster) {
    this.stop = follow(cluster, "pods", (change) => this.#changed(change));
  }

  ownedBy({ metadata }: StoredObject): PodObject[] {
    return [...(this.#byOwner.get(ownerKey(metadata.namespace, metadata.uid))?.values() ?? [])];
  }

  orphansIn(namespace: string): Iterable<PodObject> {
    return this.#orphans.get(namespace)?.values() ?? [];
  }

  /** Calls for each change; with the owner before the change too, when that was another one. */
  onChange(listener: (pod: PodObject, ownerUid: string | undefined) => void): void {
    this.#listeners.add(listener);
  }

  #changed(change: ClusterChange): void {
    const pod = change.object;
    if (!isPod(pod)) return;
    const uid = pod.metadata.uid ?? "";
    const owner = controllerOf(pod)?.uid;
    const before = change.type === "MODIFIED" ? controllerOf(change.before)?.uid : owner;
    const group = this.#group(pod, before);
    group?.delete(uid);
    if (change.type !== "DELETED") this.#groupFor(pod, owner).set(uid, pod);
    else if (group?.size === 0 && before !== undefined)
      this.#byOwner.delete(ownerKey(pod.metadata.namespace, before));
    for (const listener of this.#listeners) {
      listener(pod, owner);
      if (before !== owner && before !== undefined) listener(pod, before);
    }
  }

  #group(pod: PodObject, owner: string | undefined): Map<string, PodObject> | undefined {
    const { namespace = "" } = pod.metadata;
    return owner === undefined ? this.#orphans.get(namespace) : this.#byOwner.get(ownerKey(namespace, owner));
  }

  #groupFor(pod: PodObject, owner: string | undefined): Map<string, PodObject> {
    const known = this.#group(pod, owner);
    if (known) return known;
    const group = new Map<string, PodObject>();
    if (owner === undefined) this.#orphans.set(pod.metadata.namespace ?? "", group);
    else this.#byOwner.set(ownerKey(pod.metadata.namespace, owner), group);
    return group;
  }
}

function ownerKey(namespace = "", uid = ""): string {
  return `${namespace}/${uid}`;
}

/** Neither finished nor being deleted. */
export function isActive(pod: PodObject): boolean {
  return !isFinished(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** Milliseconds until the pod has been Ready for `minReadySeconds`: 0 when it has, undefined while it is not Ready. */
export function availableInMs(pod: PodObject, minReadySeconds: number, now: number): number | undefined {
  if (!isPodReady(pod)) return undefined;
  if (minReadySeconds === 0) return 0;
  const since = timeOf(findCondition(pod.status?.conditions, "Ready")?.lastTransitionTime) ?? now;
  return Math.max(0, since + minReadySeconds * 1_000 - now);
}

/** Counts pods, and says when the next one will become available. */
export function countPods(pods: readonly PodObject[], minReadySeconds: number, now: number) {
  let ready = 0;
  let available = 0;
  let wakeAfterMs: number | undefined;
  for (const pod of pods) {
    const wait = availableInMs(pod, minReadySeconds, now);
    if (wait === undefined) continue;
    ready += 1;
    if (wait === 0) available += 1;
    else wakeAfterMs = Math.min(wait, wakeAfterMs ?? wait);
  }
  return { ready, available, wakeAfterMs };
}

/** Order in which a scale-in takes pods: the first goes first. */
export function byWorth(left: PodObject, right: PodObject): number {
  return (
    Number(Boolean(left.spec.nodeName)) - Number(Boolean(right.spec.nodeName)) ||
    phaseRank(left) - phaseRank(right) ||
    Number(isPodReady(left)) - Number(isPodReady(right)) ||
    deletionCost(left) - deletionCost(right) ||
    restarts(right) - restarts(left) ||
    createdAt(right) - createdAt(left)
  );
}

function phaseRank(pod: PodObject): number {
  return ["Pending", "Unknown", "Running"].indexOf(pod.status?.phase ?? "Pending");
}

function deletionCost(pod: PodObject): number {
  return Number(pod.metadata.annotations?.["controller.kubernetes.io/pod-deletion-cost"] ?? 0) || 0;
}

function restarts(pod: PodObject): number {
  return Math.max(0, ...(pod.status?.containerStatuses ?? []).map((status) => status.restartCount));
}

export function createdAt({ metadata }: StoredObject): number {
  return timeOf(metadata.creationTimestamp) ?? 0;
}
