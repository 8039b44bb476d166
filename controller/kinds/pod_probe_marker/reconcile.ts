/** Markers: the finalizer, and the status that says how many pods are probed. What nodes get is in node_reconcile.ts. */
import type { NodePodProbe, PodProbeMarker } from "../../../crds/index.ts";
import { type Cache, keyOf } from "../../../kube/index.ts";
import { type ObservedPod, observedPodResource } from "../../native/observed_pod.ts";
import { isVirtualNode } from "../../native/virtual_node.ts";
import { nodePodProbeResource } from "../../plan/resources.ts";
import { statusPauseMs } from "../../rollout/delays.ts";
import { writable } from "../../runtime/executor/writable.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { SelectionNeeds, SelectionReader } from "../../runtime/selected_objects.ts";
import { marksEffect, marksOfConditions, type PodMarks } from "./marks.ts";
import { byClaim, CLEANUP_FINALIZER, isProbed, type Marker, markerOf } from "./model.ts";
import { markerIndex, markerSelection, nodeIndex } from "./watching.ts";

/** Pods come and go in crowds: their events are gathered for so long at most, milliseconds. */
const LONGEST_GATHERING_MS = 200;

export class PodProbeMarkerReconciler implements Reconciler<PodProbeMarker> {
  readonly finalizer = CLEANUP_FINALIZER;
  readonly writes = {
    pods: writable(observedPodResource, {
      writeBack: (pod, key) => this.#needs.held(key)?.[0]?.writeBack(pod),
    }),
  };
  readonly #deps: KindDeps<PodProbeMarker>;
  readonly #needs: SelectionNeeds<ObservedPod>;
  readonly #nodeProbes: Cache<NodePodProbe>;

  constructor(deps: KindDeps<PodProbeMarker>) {
    this.#deps = deps;
    const { queue } = deps;
    this.#needs = deps.selectObjects(observedPodResource).needs((key, change) => {
      if (change === undefined) queue.add(key);
      else if (change.type !== "changed" || isProbed(change.before) !== isProbed(change.object))
        queue.addAfter(key, this.#gatheringMs(key));
      else if (deps.options.gates.EnablePodProbeMarkerOnServerless)
        queue.addAfter(key, this.#gatheringMs(key));
    });
    this.#nodeProbes = deps.informers.cacheOf(nodePodProbeResource, { marker: markerIndex });
    // The last node that forgot a marker lets it go.
    this.#nodeProbes.subscribe((change) => {
      for (const key of change.type === "added"
        ? []
        : markerIndex(change.type === "changed" ? change.before : change.object)) {
        if (deps.objects.get(key)?.metadata.deletionTimestamp !== undefined) queue.add(key);
      }
    });
  }

  #gatheringMs(key: string): number {
    const [pods] = this.#needs.held(key) ?? [];
    return Math.min(LONGEST_GATHERING_MS, statusPauseMs(pods?.size ?? 0));
  }

  forget(key: string): void {
    this.#needs.release(key);
  }

  reconcile(marker: PodProbeMarker, key: string): Result | undefined {
    const { deletionTimestamp, generation: observedGeneration = 0 } = marker.metadata;
    if (deletionTimestamp !== undefined) {
      this.#needs.release(key);
      // Probes that are still on a node keep the marker; the write that removes the last of them enqueues it.
      for (const _ of this.#nodeProbes.byIndex("marker", key)) return undefined;
      return { effects: [{ type: "remove finalizer", finalizer: this.finalizer }] };
    }
    const [pods] = this.#needs.need(key, [markerSelection(marker)]) ?? [];
    if (pods === undefined) return undefined;
    pods.addIndex("node", nodeIndex);
    const marks = this.#serverlessMarks(pods);
    return {
      status: { ...marker.status, observedGeneration, matchedPods: this.#countMatched(pods) },
      size: pods.size,
      effects: [{ type: "writes", pace: "at once", writes: marks.map(marksEffect) }],
    };
  }

  #countMatched(pods: SelectionReader<ObservedPod>): number {
    const { nodes } = this.#deps.caches;
    let matched = 0;
    for (const pod of pods.values()) if (isProbed(pod) && nodes.get(pod.nodeName) !== undefined) matched++;
    return matched;
  }

  #serverlessMarks(pods: SelectionReader<ObservedPod>): readonly PodMarks[] {
    const { options, caches } = this.#deps;
    const marks: PodMarks[] = [];
    if (!options.gates.EnablePodProbeMarkerOnServerless) return marks;
    for (const node of caches.nodes.values()) {
      if (!isVirtualNode(node)) continue;
      for (const pod of pods.byIndex("node", node.name)) {
        const wanted = isProbed(pod) ? marksOfConditions(pod, this.#markersOf(pod)) : undefined;
        if (wanted !== undefined) marks.push(wanted);
      }
    }
    return marks;
  }

  /** All of a pod, as on other nodes: two that set one label would take turns, since each write is a change for the other. */
  #markersOf(pod: ObservedPod): Marker[] {
    const podKey = keyOf(pod);
    const markers: Marker[] = [];
    for (const marker of this.#deps.objects.values()) {
      const { namespace = "", name = "", deletionTimestamp } = marker.metadata;
      if (namespace !== pod.namespace || deletionTimestamp !== undefined) continue;
      const [selected] = this.#needs.held(keyOf({ namespace, name })) ?? [];
      if (selected?.get(podKey)?.uid === pod.uid) markers.push(markerOf(marker));
    }
    return markers.sort(byClaim);
  }
}
