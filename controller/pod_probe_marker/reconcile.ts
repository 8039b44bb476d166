/** Markers: the finalizer, and the status that says how many pods are probed. What nodes get is in node_reconcile.ts. */
import type { NodePodProbe, PodProbeMarker } from "../../crds/index.ts";
import { createMergePatch } from "../../kube/core/index.ts";
import { type Cache, isKubeError, type Outcome } from "../../kube/index.ts";
import type { Informers } from "../informers.ts";
import type { Caches, KindDeps, KindShell } from "../kind.ts";
import { type ObservedPod, observedPodResource } from "../observed_pod.ts";
import { statusPauseMs } from "../rollout/delays.ts";
import type { HeldPods, PodNeeds } from "../selected_pods.ts";
import { marksOfConditions, type PodMarks } from "./marks.ts";
import { CLEANUP_FINALIZER, isProbed, isVirtualNode, markerOf } from "./model.ts";
import { nodePodProbeResource } from "./resource.ts";
import { markerIndex, markerSelection, nodeIndex, writeMarks } from "./watching.ts";

/** Pods come and go in crowds: their events are gathered for so long at most, milliseconds. */
const LONGEST_GATHERING_MS = 200;

type PodProbeMarkerDeps = Pick<
  KindDeps<PodProbeMarker>,
  "client" | "objects" | "options" | "queue" | "resource" | "selectPods" | "signal"
> & { caches: Pick<Caches, "nodes">; informers: Pick<Informers, "cacheOf"> };

export function podProbeMarkerShell(deps: PodProbeMarkerDeps): KindShell {
  return new PodProbeMarkerShell(deps);
}

class PodProbeMarkerShell implements KindShell {
  readonly #deps: PodProbeMarkerDeps;
  readonly #needs: PodNeeds<ObservedPod>;
  readonly #nodeProbes: Cache<NodePodProbe>;

  constructor(deps: PodProbeMarkerDeps) {
    this.#deps = deps;
    const { queue } = deps;
    this.#needs = deps.selectPods(observedPodResource).needs((key, change) => {
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

  coalescingMs(): number {
    return 0;
  }

  #gatheringMs(key: string): number {
    const [pods] = this.#needs.held(key) ?? [];
    return Math.min(LONGEST_GATHERING_MS, statusPauseMs(pods?.size ?? 0));
  }

  forget(key: string): void {
    this.#needs.release(key);
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  async reconcile(key: string): Promise<Outcome> {
    const marker = this.#deps.objects.get(key);
    if (marker === undefined) return {};
    if (marker.metadata.deletionTimestamp !== undefined) {
      this.#needs.release(key);
      return this.#letGo(key, marker);
    }
    if (!(marker.metadata.finalizers ?? []).includes(CLEANUP_FINALIZER))
      await this.#writeFinalizers(marker, [...(marker.metadata.finalizers ?? []), CLEANUP_FINALIZER]);
    if (!this.#deps.objects.holds(key, marker.metadata.uid)) return {};
    const [pods] = this.#needs.need(key, [markerSelection(marker)]) ?? [];
    if (pods === undefined) return {};
    pods.addIndex("node", nodeIndex);
    await Promise.all([this.#writeStatus(key, pods), this.#markServerless(marker, pods)]);
    return {};
  }

  /** Probes that are still on a node keep the marker; the write that removes the last of them wakes it. */
  async #letGo(key: string, marker: PodProbeMarker): Promise<Outcome> {
    const finalizers = marker.metadata.finalizers ?? [];
    if (!finalizers.includes(CLEANUP_FINALIZER)) return {};
    for (const _ of this.#nodeProbes.byIndex("marker", key)) return {};
    await this.#writeFinalizers(
      marker,
      finalizers.filter((finalizer) => finalizer !== CLEANUP_FINALIZER),
    );
    return {};
  }

  async #writeFinalizers(marker: PodProbeMarker, finalizers: readonly string[]): Promise<void> {
    const { uid, resourceVersion } = marker.metadata;
    // A list is replaced as a whole: only the one that was read may be.
    const body = { metadata: { uid, resourceVersion, finalizers } };
    await this.#patch(marker, body);
  }

  async #writeStatus(key: string, pods: HeldPods<ObservedPod>): Promise<void> {
    const marker = this.#deps.objects.get(key);
    if (marker === undefined) return;
    const { nodes } = this.#deps.caches;
    let matchedPods = 0;
    for (const pod of pods.values())
      if (isProbed(pod) && nodes.get(pod.nodeName) !== undefined) matchedPods++;
    const status = { observedGeneration: marker.metadata.generation ?? 0, matchedPods };
    const patch = createMergePatch(marker.status ?? {}, { ...marker.status, ...status });
    if (Object.keys(Object(patch)).length === 0) return;
    await this.#patch(marker, { status: patch }, "status");
  }

  async #markServerless(marker: PodProbeMarker, pods: HeldPods<ObservedPod>): Promise<void> {
    const { options, caches } = this.#deps;
    if (!options.gates.EnablePodProbeMarkerOnServerless) return;
    const marks: PodMarks[] = [];
    for (const node of caches.nodes.values()) {
      if (!isVirtualNode(node)) continue;
      for (const pod of pods.byIndex("node", node.name)) {
        const wanted = isProbed(pod) ? marksOfConditions(pod, [markerOf(marker)]) : undefined;
        if (wanted !== undefined) marks.push(wanted);
      }
    }
    await Promise.all(marks.map((one) => writeMarks(this.#deps, one, [pods])));
  }

  /** A marker that is gone needs nothing any more. */
  async #patch(marker: PodProbeMarker, body: object, subresource?: string): Promise<void> {
    const { client, resource, objects, signal } = this.#deps;
    const { uid = "" } = marker.metadata;
    const options = { flow: uid, signal, ...(subresource === undefined ? {} : { subresource }) };
    const { namespace = "", name = "" } = marker.metadata;
    try {
      objects.writeBack(await client.patch(resource, { namespace, name }, { type: "merge", body }, options));
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
    }
  }
}
