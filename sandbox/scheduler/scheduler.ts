/**
 * Binds pods to nodes. One pod costs at most one pass over the nodes; changes of other pods are counted as they
 * happen, nothing is listed again.
 */
import { type Condition, formatTime, keyOf, matchesNode, refOf } from "../../kube/core/index.ts";
import type { Next } from "../agenda.ts";
import { type Amounts, Reckoner } from "../amounts.ts";
import type { Cluster, ClusterChange, StoredObject } from "../cluster.ts";
import { ClusterLoop, type LoopOptions } from "../cluster_loop.ts";
import type { EventWriter } from "../events.ts";
import { isFinished, isNode, isPod, type NodeObject, type PodObject } from "../objects/index.ts";
import { keyOfObject } from "../workloads/workload.ts";
import { type PodDemand, pinnedNodes, scoreNode, unfitReason } from "./fit.ts";
import { NodeState } from "./node_state.ts";
import { PodCounts, spreadRules } from "./spread.ts";
import { claimsDemand, selectNode } from "./volume_demand.ts";

interface SchedulerOptions extends LoopOptions {
  readonly events: EventWriter;
  /** Whether a normal `Scheduled` event is written per pod. */
  readonly tellSuccess: boolean;
}

interface Bound {
  pod: PodObject;
  readonly node: string;
  readonly generation: number | undefined;
  readonly amounts: Amounts;
  readonly hostPorts: readonly string[];
}

const schedulerName = "default-scheduler";
/** Pods that fit nowhere are tried again this long after something changed, and this long after nothing did. */
const retrySoonMs = 20;
const retryLateMs = 10_000;
/** Nodes beyond which a pod does not look at all of them once enough fit. */
const exhaustiveNodes = 200;
const enoughFitting = 100;

export class Scheduler extends ClusterLoop<SchedulerOptions> {
  readonly #reckoner = new Reckoner();
  readonly #nodes = new Map<string, NodeState>();
  readonly #bound = new Map<string, Bound>();
  readonly #podCounts = new PodCounts(() => this.#boundPods());
  readonly #unschedulable = new Set<string>();
  #order: NodeState[] = [];
  #turn = 0;

  constructor(options: SchedulerOptions) {
    super(options);
    this.follow("nodes", (change) => this.#nodeChanged(change));
    this.follow("pods", (change) => this.#podChanged(change));
    this.watch("persistentvolumeclaims", () => this.#retry());
  }

  *#boundPods(): Iterable<PodObject> {
    for (const { pod } of this.#bound.values()) yield pod;
  }

  #nodeChanged(change: ClusterChange): void {
    const name = change.object.metadata.name ?? "";
    if (change.type === "DELETED") {
      this.#nodes.delete(name);
      this.#order = [...this.#nodes.values()];
      return;
    }
    const node: NodeObject = isNode(change.object) ? change.object : { ...change.object, spec: {} };
    let state = this.#nodes.get(name);
    const before = state && whatMatters(state);
    if (!state) {
      state = new NodeState(name);
      this.#nodes.set(name, state);
      this.#order.push(state);
      for (const bound of this.#bound.values()) {
        if (bound.node === name) state.count(bound.amounts, bound.hostPorts, 1);
      }
    }
    state.take(node, this.#reckoner);
    if (before !== whatMatters(state)) this.#retry();
  }

  #podChanged(change: ClusterChange): void {
    const pod = change.object;
    if (!isPod(pod)) return;
    const uid = pod.metadata.uid ?? "";
    const key = keyOf({ namespace: pod.metadata.namespace ?? "", name: pod.metadata.name ?? "" });
    if (change.type === "DELETED") {
      this.#release(uid);
      this.#unschedulable.delete(key);
    } else if (pod.spec.nodeName) {
      if (isFinished(pod)) this.#release(uid);
      else this.#occupy(uid, pod, pod.spec.nodeName);
    } else if (this.#isWaiting(pod)) {
      const known = this.#unschedulable.has(key);
      // Its own refusal comes back as a change; only another spec is a reason to look again.
      const same =
        change.type === "MODIFIED" && change.before.metadata.generation === pod.metadata.generation;
      if (!known || !same) this.agenda.add(key);
    }
  }

  #isWaiting(pod: PodObject): boolean {
    return (
      !pod.spec.nodeName &&
      pod.metadata.deletionTimestamp === undefined &&
      (pod.spec.schedulerName ?? schedulerName) === schedulerName &&
      (pod.spec.schedulingGates ?? []).length === 0 &&
      !isFinished(pod)
    );
  }

  #occupy(uid: string, pod: PodObject, node: string): void {
    const known = this.#bound.get(uid);
    if (known && known.generation === pod.metadata.generation) {
      known.pod = pod;
      return;
    }
    if (known) this.#release(uid);
    const bound: Bound = {
      pod,
      node,
      generation: pod.metadata.generation,
      amounts: this.#reckoner.ofPod(pod),
      hostPorts: hostPortsOf(pod),
    };
    this.#bound.set(uid, bound);
    this.#nodes.get(node)?.count(bound.amounts, bound.hostPorts, 1);
    this.#podCounts.count(pod, node, 1);
  }

  #release(uid: string): void {
    const known = this.#bound.get(uid);
    if (!known) return;
    this.#bound.delete(uid);
    this.#nodes.get(known.node)?.count(known.amounts, known.hostPorts, -1);
    this.#podCounts.count(known.pod, known.node, -1);
    this.#retry();
  }

  #retry(): void {
    for (const key of this.#unschedulable) this.agenda.add(key, retrySoonMs);
  }

  protected override work(key: string): Next {
    const pod = this.options.cluster.get("pods", refOf(key));
    if (!isPod(pod) || !this.#isWaiting(pod)) {
      this.#unschedulable.delete(key);
      return undefined;
    }
    const claims = claimsDemand(this.options.cluster, pod);
    if (claims.refusal !== undefined) return this.#refuse(key, pod, claims.refusal);
    const demand: PodDemand = {
      pod,
      amounts: this.#reckoner.ofPod(pod),
      hostPorts: hostPortsOf(pod),
      volumeTerms: claims.nodeTerms,
    };
    const reasons = new Map<string, number>();
    const node = this.#bestNode(demand, reasons);
    if (!node) return this.#refuse(key, pod, this.#refusal(reasons));
    if (claims.waitForNode.length > 0) {
      selectNode(this.options.cluster, pod, claims.waitForNode, node.name);
      this.#unschedulable.add(key);
      return retryLateMs;
    }
    this.#bind(key, pod, node.name);
    return undefined;
  }

  #bestNode(demand: PodDemand, reasons: Map<string, number>): NodeState | undefined {
    const pinned = pinnedNodes(demand.pod);
    const candidates = pinned ? pinned.flatMap((name) => this.#nodes.get(name) ?? []) : this.#order;
    if (pinned) this.#countOthers(reasons, candidates.length);
    const eligible = () => this.#order.filter((node) => matchesNode(demand.pod.spec, node));
    const rules = needsRules(demand.pod) ? spreadRules(demand.pod, eligible(), this.#podCounts) : undefined;
    const limit = candidates.length > exhaustiveNodes ? enoughFitting : candidates.length;
    let best: { node: NodeState; score: number } | undefined;
    let fitting = 0;
    for (let step = 0; step < candidates.length && fitting < limit; step++) {
      const node = candidates[(this.#turn + step) % candidates.length];
      if (!node) continue;
      const reason = unfitReason(demand, node) ?? rules?.unfitReason(node);
      if (reason !== undefined) {
        reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
        continue;
      }
      fitting += 1;
      const score = scoreNode(demand, node) + (rules?.score(node) ?? 0);
      if (!best || score > best.score) best = { node, score };
    }
    // Large clusters are walked round, so that every node gets its share.
    if (candidates.length > exhaustiveNodes) this.#turn = (this.#turn + enoughFitting) % candidates.length;
    return best?.node;
  }

  #countOthers(reasons: Map<string, number>, pinned: number): void {
    const others = this.#nodes.size - pinned;
    if (others > 0) reasons.set("node(s) didn't match Pod's node affinity/selector", others);
  }

  #refusal(reasons: ReadonlyMap<string, number>): string {
    if (this.#nodes.size === 0) return "no nodes available to schedule pods";
    const parts = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
    return `0/${this.#nodes.size} nodes are available: ${parts.join(", ")}.`;
  }

  #bind(key: string, pod: PodObject, node: string): void {
    const { cluster, events, clock, tellSuccess } = this.options;
    this.#unschedulable.delete(key);
    const lastTransitionTime = formatTime(clock.now());
    const stored = recordScheduled(cluster, pod, "True", { lastTransitionTime }, node);
    if (isPod(stored) && stored.spec.nodeName)
      this.#occupy(stored.metadata.uid ?? "", stored, stored.spec.nodeName);
    if (!tellSuccess) return;
    events.write(pod, "Normal", "Scheduled", `Successfully assigned ${key} to ${node}`, schedulerName);
  }

  #refuse(key: string, pod: PodObject, message: string): Next {
    const { cluster, events, clock } = this.options;
    const known = pod.status?.conditions?.find((condition) => condition.type === "PodScheduled");
    this.#unschedulable.add(key);
    if (known?.message === message && known.status === "False") return retryLateMs;
    const now = formatTime(clock.now());
    const lastTransitionTime = known?.status === "False" ? (known.lastTransitionTime ?? now) : now;
    recordScheduled(cluster, pod, "False", { lastTransitionTime, reason: "Unschedulable", message });
    events.write(pod, "Warning", "FailedScheduling", message, schedulerName);
    return retryLateMs;
  }
}

/** Writes the condition PodScheduled, and the node where one was found, unless somebody else has bound the pod. */
function recordScheduled(
  cluster: Cluster,
  pod: PodObject,
  status: "True" | "False",
  rest: Pick<Condition, "lastTransitionTime" | "reason" | "message">,
  node?: string,
): StoredObject | undefined {
  const type = "PodScheduled";
  return cluster.update("pods", refOf(keyOfObject(pod)), (draft) => {
    if (!isPod(draft) || draft.metadata.uid !== pod.metadata.uid || draft.spec.nodeName) return;
    if (node !== undefined) draft.spec.nodeName = node;
    const others = (draft.status?.conditions ?? []).filter((other) => other.type !== type);
    draft.status = {
      ...draft.status,
      conditions: [...others, { type, status, lastProbeTime: null, ...rest }],
    };
  });
}

function needsRules(pod: PodObject): boolean {
  const { topologySpreadConstraints, affinity } = pod.spec;
  return Boolean(topologySpreadConstraints?.length || affinity?.podAntiAffinity || affinity?.podAffinity);
}

function hostPortsOf(pod: PodObject): string[] {
  const ports: string[] = [];
  for (const container of pod.spec.containers) {
    for (const port of container.ports ?? []) {
      if (port.hostPort) ports.push(`${port.protocol ?? "TCP"}/${port.hostPort}`);
    }
  }
  return ports;
}

function whatMatters({ labels, taints, unschedulable, allocatable }: NodeState): string {
  return JSON.stringify([labels, taints, unschedulable, allocatable]);
}
