/**
 * What happens when nodes fall silent, are tainted, or vanish: condition Unknown, taints, pods not Ready, eviction
 * after their tolerations, removal of pods whose node is gone.
 */
import { findCondition, formatTime, refOf, type Taint, tolerates } from "../../kube/core/index.ts";
import type { Next } from "../agenda.ts";
import type { ClusterChange } from "../cluster.ts";
import { ClusterLoop, type LoopOptions } from "../cluster_loop.ts";
import type { EventWriter } from "../events.ts";
import { isFinished, isNode, isPod, type NodeObject, type PodObject, timeOf } from "../objects/index.ts";
import type { HeartbeatTiming } from "../stages/profile.ts";
import { keyOfObject } from "../workloads/workload.ts";

/** Who knows whether nodes still speak: cheaper than a Lease per node and second. */
interface NodeSilence {
  /** Since when a node says nothing, in milliseconds since the epoch; undefined while it lives. */
  silentSince(node: string): number | undefined;
  /** Calls when a node falls silent; returns the unsubscriber. */
  onSilent(listener: (node: string) => void): () => void;
}

interface NodeLifecycleOptions extends LoopOptions {
  readonly events: EventWriter;
  readonly heartbeat: HeartbeatTiming;
  readonly silence: NodeSilence;
}

const unreachable = "node.kubernetes.io/unreachable";
const notReady = "node.kubernetes.io/not-ready";
const unschedulable = "node.kubernetes.io/unschedulable";

export class NodeLifecycle extends ClusterLoop<NodeLifecycleOptions> {
  readonly #podsOn = new Map<string, Set<string>>();
  /** When a node name was first found to have pods but no Node object. */
  readonly #missingSince = new Map<string, number>();

  constructor(options: NodeLifecycleOptions) {
    super(options);
    this.follow("nodes", (change) => this.#nodeChanged(change));
    this.follow("pods", (change) => this.#podChanged(change));
    this.unsubscribeWith(options.silence.onSilent((node) => this.agenda.add(`node:${node}`)));
  }

  protected override work(key: string): Next {
    return key.startsWith("node:") ? this.#lookAt(key.slice(5)) : this.#evict(key.slice(4));
  }

  #nodeChanged(change: ClusterChange): void {
    const name = change.object.metadata.name ?? "";
    this.agenda.add(`node:${name}`);
    if (change.type === "MODIFIED" && isNode(change.object) && hasNoExecute(change.object))
      this.#lookAtPods(name);
  }

  #lookAtPods(node: string): void {
    for (const key of this.#podsOn.get(node) ?? []) this.agenda.add(`pod:${key}`);
  }

  #podChanged(change: ClusterChange): void {
    const pod = change.object;
    if (!isPod(pod) || !pod.spec.nodeName) return;
    const node = pod.spec.nodeName;
    const key = keyOfObject(pod);
    const pods = this.#podsOn.get(node) ?? new Set();
    if (change.type === "DELETED") {
      pods.delete(key);
      if (pods.size === 0) this.#podsOn.delete(node);
      return;
    }
    if (pods.has(key)) return;
    pods.add(key);
    this.#podsOn.set(node, pods);
    const object = this.options.cluster.get("nodes", { name: node });
    if (!object) this.agenda.add(`node:${node}`);
    else if (isNode(object) && hasNoExecute(object)) this.agenda.add(`pod:${key}`);
  }

  #lookAt(name: string): Next {
    const { cluster, clock, heartbeat, silence } = this.options;
    const node = cluster.get("nodes", { name });
    if (!node) return this.#removeOrphans(name);
    this.#missingSince.delete(name);
    if (!isNode(node)) return undefined;
    const since = silence.silentSince(name);
    const now = clock.now();
    const isGone = since !== undefined && now - since >= heartbeat.graceMs;
    const ready = findCondition(node.status?.conditions, "Ready");
    if (isGone && ready?.status !== "Unknown") this.#declareUnknown(name, now);
    this.#syncTaints(name, now);
    const alive = !isGone && ready?.status === "True";
    if (!alive && ready) this.#markPods(name, now);
    return since === undefined || isGone ? undefined : Math.max(0, since + heartbeat.graceMs - now);
  }

  #declareUnknown(name: string, now: number): void {
    const time = formatTime(now);
    const updated = this.options.cluster.update("nodes", { name }, (draft) => {
      if (!isNode(draft)) return;
      const conditions = (draft.status?.conditions ?? []).map((condition) => ({
        ...condition,
        status: "Unknown" as const,
        reason: "NodeStatusUnknown",
        message: "Kubelet stopped posting node status.",
        lastTransitionTime: time,
      }));
      draft.status = { ...draft.status, conditions };
    });
    if (updated) {
      const message = `Node ${name} status is now: NodeNotReady`;
      this.options.events.write(updated, "Normal", "NodeNotReady", message, "node-controller");
    }
  }

  /** Taints follow the Ready condition and `spec.unschedulable`. */
  #syncTaints(name: string, now: number): void {
    const node = this.options.cluster.get("nodes", { name });
    if (!isNode(node) || taintsAgree(node)) return;
    this.options.cluster.update("nodes", { name }, (draft) => {
      if (!isNode(draft)) return;
      const before = draft.spec.taints ?? [];
      const wanted = wantedTaints(draft);
      const others = before.filter((taint) => !isOurs(taint) || wanted.some((known) => same(known, taint)));
      const missing = wanted.filter((taint) => !before.some((known) => same(known, taint)));
      const time = formatTime(now);
      const taints = [...others, ...missing.map((taint) => ({ ...taint, timeAdded: time }))];
      if (taints.length > 0) draft.spec.taints = taints;
      else delete draft.spec.taints;
    });
  }

  /** Pods of a silent node are no longer Ready, whatever their kubelet said last. */
  #markPods(node: string, now: number): void {
    const time = formatTime(now);
    for (const key of this.#podsOn.get(node) ?? []) {
      this.options.cluster.update("pods", refOf(key), (draft) => {
        if (!isPod(draft)) return;
        const ready = findCondition(draft.status?.conditions, "Ready");
        if (ready?.status !== "True") return;
        const conditions = (draft.status?.conditions ?? []).map((condition) =>
          condition.type === "Ready"
            ? { ...condition, status: "False" as const, lastTransitionTime: time }
            : condition,
        );
        draft.status = { ...draft.status, conditions };
      });
    }
  }

  #removeOrphans(node: string): Next {
    const { cluster, clock, heartbeat } = this.options;
    const pods = this.#podsOn.get(node);
    if (!pods) return undefined;
    const since = this.#missingSince.get(node) ?? clock.now();
    this.#missingSince.set(node, since);
    const wait = since + heartbeat.orphanMs - clock.now();
    if (wait > 0) return wait;
    for (const key of [...pods]) cluster.remove("pods", refOf(key), { gracePeriodSeconds: 0 });
    this.#missingSince.delete(node);
    return undefined;
  }

  #evict(key: string): Next {
    const { cluster, clock, events } = this.options;
    const pod = cluster.get("pods", refOf(key));
    if (!isPod(pod) || isFinished(pod) || pod.metadata.deletionTimestamp) return undefined;
    const node = cluster.get("nodes", { name: pod.spec.nodeName ?? "" });
    if (!isNode(node)) return undefined;
    const wait = evictionIn(pod, node, clock.now());
    if (wait === undefined || wait > 0) return wait;
    const message = `Marking for deletion Pod ${key}`;
    events.write(pod, "Normal", "TaintManagerEviction", message, "taint-eviction-controller");
    const { uid } = pod.metadata;
    cluster.remove("pods", refOf(key), uid ? { uid } : {});
    return undefined;
  }
}

function hasNoExecute(node: NodeObject): boolean {
  return (node.spec.taints ?? []).some((taint) => taint.effect === "NoExecute");
}

function same(left: Taint, right: Taint): boolean {
  return left.key === right.key && left.effect === right.effect;
}

function isOurs(taint: Taint): boolean {
  return taint.key === unreachable || taint.key === notReady || taint.key === unschedulable;
}

function taintsAgree(node: NodeObject): boolean {
  const before = (node.spec.taints ?? []).filter(isOurs);
  const wanted = wantedTaints(node);
  return (
    before.length === wanted.length && wanted.every((taint) => before.some((known) => same(known, taint)))
  );
}

function wantedTaints(node: NodeObject): Taint[] {
  const taints: Taint[] = [];
  const ready = findCondition(node.status?.conditions, "Ready");
  const key = ready?.status === "Unknown" ? unreachable : ready?.status === "False" ? notReady : undefined;
  if (key) taints.push({ key, effect: "NoSchedule" }, { key, effect: "NoExecute" });
  if (node.spec.unschedulable) taints.push({ key: unschedulable, effect: "NoSchedule" });
  return taints;
}

/**
 * Milliseconds until a pod must leave its node: 0 when a NoExecute taint is not tolerated, undefined when all are
 * tolerated for good.
 */
export function evictionIn(pod: PodObject, node: NodeObject, now: number): number | undefined {
  let earliest: number | undefined;
  for (const taint of node.spec.taints ?? []) {
    if (taint.effect !== "NoExecute") continue;
    const fitting = (pod.spec.tolerations ?? []).filter((toleration) => tolerates(toleration, taint));
    if (fitting.length === 0) return 0;
    const seconds = fitting.map((toleration) => toleration.tolerationSeconds ?? Number.POSITIVE_INFINITY);
    const shortest = Math.min(...seconds);
    if (shortest === Number.POSITIVE_INFINITY) continue;
    const since = timeOf(taint.timeAdded) ?? now;
    earliest = Math.min(earliest ?? Number.POSITIVE_INFINITY, Math.max(0, since + shortest * 1_000 - now));
  }
  return earliest;
}
