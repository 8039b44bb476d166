/** Nodes: one NodePodProbe each, written here alone, and the results that its agent reports. Keys are names of nodes. */

import type { NodePodProbe, PodProbeMarker } from "../../../crds/index.ts";
import { isConditionTrue, keyOf } from "../../../kube/core/index.ts";
import { type Cache, type Change, compareVersions, type Node } from "../../../kube/index.ts";
import { type ObservedPod, observedPodResource } from "../../native/observed_pod.ts";
import { isVirtualNode } from "../../native/virtual_node.ts";
import type { Outcomes } from "../../plan/effects.ts";
import { podProbeMarkerResource } from "../../plan/resources.ts";
import { writable } from "../../runtime/executor/writable.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { SelectionNeeds } from "../../runtime/selected_objects.ts";
import { marksEffect } from "./marks.ts";
import { type Marker, markerOf } from "./model.ts";
import { type PodWithMarkers, type ProbedNodeObserved, planNode } from "./plan.ts";
import { markerIndex, markerSelection, nodeIndex } from "./watching.ts";

/** Pods of a node start in crowds, and each changes several times: gathered for so long, milliseconds. */
const GATHERING_MS = 50;

export class NodePodProbeReconciler implements Reconciler<NodePodProbe> {
  readonly writes = { pods: writable(observedPodResource, { writeBack: (pod) => this.#writeBack(pod) }) };
  readonly #deps: KindDeps<NodePodProbe>;
  readonly #markers: Cache<PodProbeMarker>;
  readonly #needs: SelectionNeeds<ObservedPod>;
  /** By node, then by UID of its pods: what was written last. A process that starts writes everything once more. */
  readonly #applied = new Map<string, ReadonlyMap<string, string>>();
  /** What is written last once the effects of a result are carried out. */
  readonly #applying = new WeakMap<Result, ReadonlyMap<string, string>>();

  constructor(deps: KindDeps<NodePodProbe>) {
    this.#deps = deps;
    this.#markers = deps.informers.cacheOf(podProbeMarkerResource);
    deps.objects.addIndex("marker", markerIndex);
    this.#needs = deps.selectObjects(observedPodResource).needs((key, change) => this.#onPod(key, change));
    this.#markers.subscribe((change) => this.#onMarker(change));
    deps.caches.nodes.subscribe((change) => this.#onNode(change));
  }

  /** Removed while its node is there: it is created again. */
  forget(key: string): void {
    this.#deps.queue.addAfter(key, GATHERING_MS);
  }

  reconcile(_: NodePodProbe, name: string): Result {
    return this.reconcileAbsent(name);
  }

  reconcileAbsent(name: string): Result {
    const { action, marks, applied } = planNode(this.#observe(name));
    const writes = { type: "writes", pace: "at once", writes: marks.map(marksEffect) } as const;
    const result = { effects: [...(action === undefined ? [] : [action]), writes] };
    this.#applying.set(result, applied);
    return result;
  }

  executed(name: string, result: Result, { error }: Outcomes): void {
    const applied = this.#applying.get(result);
    if (applied === undefined || error !== undefined) return;
    if (applied.size > 0) this.#applied.set(name, applied);
    else this.#applied.delete(name);
  }

  #observe(name: string): ProbedNodeObserved {
    const pods = new Map<string, { pod: ObservedPod; markers: Marker[] }>();
    const undecided = new Set<string>();
    for (const marker of this.#markers.values()) {
      if (marker.metadata.deletionTimestamp !== undefined) continue;
      const key = markerKey(marker);
      const [selected] = this.#needs.held(key) ?? [];
      if (selected === undefined) {
        if (this.#needs.has(key)) undecided.add(key);
        continue;
      }
      selected.addIndex("node", nodeIndex);
      for (const pod of selected.byIndex("node", name)) {
        const known = pods.get(pod.uid);
        if (known === undefined) pods.set(pod.uid, { pod, markers: [markerOf(marker)] });
        else {
          known.markers.push(markerOf(marker));
          // Each selection has its own watch: the newest state counts.
          if (compareVersions(pod.resourceVersion, known.pod.resourceVersion) > 0) known.pod = pod;
        }
      }
    }
    const podsWithMarkers: readonly PodWithMarkers[] = [...pods.values()];
    const node = this.#deps.caches.nodes.get(name);
    return {
      name,
      node: node === undefined || node.deletionAt !== undefined ? undefined : nodeFacts(node),
      held: this.#deps.objects.get(name),
      pods: podsWithMarkers,
      undecided,
      applied: this.#applied.get(name) ?? new Map(),
    };
  }

  /** Every marker has a selection of its own; those that do not have the pod ignore it. */
  #writeBack(pod: ObservedPod): void {
    for (const marker of this.#markers.values()) {
      if (marker.metadata.namespace === pod.namespace)
        this.#needs.held(markerKey(marker))?.[0]?.writeBack(pod);
    }
  }

  #onNode(change: Change<Node>): void {
    const { object } = change;
    const same =
      change.type === "changed" &&
      change.before.deletionAt === object.deletionAt &&
      nodeFacts(change.before).ready === nodeFacts(object).ready &&
      isVirtualNode(change.before) === isVirtualNode(object);
    if (!same) this.#deps.queue.add(object.name);
  }

  #onMarker(change: Change<PodProbeMarker>): void {
    const { object } = change;
    const key = markerKey(object);
    const ended = change.type === "removed" || object.metadata.deletionTimestamp !== undefined;
    if (
      !ended &&
      change.type === "changed" &&
      change.before.metadata.generation === object.metadata.generation
    )
      return;
    // Its pods as they were: a changed selector may leave nodes.
    this.#enqueueNodes(key);
    if (ended) this.#needs.release(key);
    else this.#select(key, object);
  }

  #select(key: string, marker: PodProbeMarker): void {
    try {
      const [pods] = this.#needs.need(key, [markerSelection(marker)]) ?? [];
      if (pods !== undefined) this.#onPod(key, undefined);
    } catch (error) {
      this.#needs.release(key);
      this.#deps.log.warn("a PodProbeMarker selects no pods: its selector is malformed", {
        marker: key,
        error,
      });
    }
  }

  #onPod(key: string, change: Change<ObservedPod> | undefined): void {
    if (change === undefined) this.#enqueueNodes(key);
    else for (const node of nodeIndex(change.object)) this.#deps.queue.addAfter(node, GATHERING_MS);
  }

  /** Nodes of the marker's pods, and nodes that have its probes. */
  #enqueueNodes(key: string): void {
    const { queue, objects } = this.#deps;
    const names = new Set<string>();
    for (const object of objects.byIndex("marker", key)) names.add(object.metadata.name ?? "");
    for (const pods of this.#needs.held(key) ?? []) {
      for (const pod of pods.values()) for (const node of nodeIndex(pod)) names.add(node);
    }
    for (const name of names) queue.add(name);
  }
}

function markerKey(marker: PodProbeMarker): string {
  const { namespace = "", name = "" } = marker.metadata;
  return keyOf({ namespace, name });
}

function nodeFacts(node: Node): { ready: boolean; virtual: boolean } {
  return { ready: isConditionTrue(node.conditions, "Ready"), virtual: isVirtualNode(node) };
}
