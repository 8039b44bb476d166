/** WorkloadSpreads: follows workload and pods of each object, plans, writes costs and removes pods that no node takes. No policy lives here. */
import { matchedWorkloadSpreadAnnotation, type WorkloadSpread } from "../../crds/index.ts";
import { createMergePatch, type JsonObject, jsonEqual, type KubeObject } from "../../kube/core/index.ts";
import {
  type Change,
  isKubeError,
  jsonResource,
  messageOf,
  type Pod,
  podResource,
} from "../../kube/index.ts";
import { earliest } from "../earliest.ts";
import type { KindDeps } from "../kind.ts";
import type { Pass, Reconciler, Step } from "../reconciler.ts";
import { longestGatheringMs } from "../rollout/delays.ts";
import { isActive } from "../rollout/pods/pod_state.ts";
import type { HeldPods, PodNeeds } from "../selected_pods.ts";
import { eventTarget } from "../shell.ts";
import { subsetOfExisting } from "./adopt.ts";
import { capOf } from "./caps.ts";
import { matchOf } from "./inject.ts";
import { type GivenUp, ownMatch, type PodPatch, planWorkloadSpread } from "./plan.ts";
import { workloadSpreadResource } from "./resource.ts";
import { isUnschedulable } from "./status.ts";
import { versionOf } from "./versions.ts";
import { podsOfWorkload, type SpreadWorkload, Workloads } from "./workloads.ts";

/** Workloads that nobody watches, and Deployments whose controller is still to look, are asked for again after so long. */
const POLL_MS = 10_000;
/** Admission writes the status, too: a pass that waits for more of the same burst meets fewer of its writes. */
const LEAST_GATHERING_MS = 50;

/** Costs that one pass writes: what admission has recorded is counted again between them. */
const MOST_COSTS = 64;

/** Pods as a whole: what a plan reads of them is in the cache. */
const wholePodResource = jsonResource<KubeObject>({
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
});

export class WorkloadSpreadReconciler implements Reconciler<WorkloadSpread> {
  readonly #deps: KindDeps<WorkloadSpread>;
  readonly #pods: PodNeeds<Pod>;
  readonly #workloads: Workloads;
  /** Pods in the last pass over each key. */
  readonly #sizes = new Map<string, number>();

  constructor(deps: KindDeps<WorkloadSpread>) {
    this.#deps = deps;
    const { informers, queue, resource, selectedPods } = deps;
    const wake = (key: string): void => queue.addAfter(key, this.coalescingMs(key));
    informers.cacheOf(resource, { namespace: ({ metadata }) => [metadata.namespace ?? ""] });
    deps.objects.subscribe((change) => {
      // What admission records is to be looked at again in time.
      if (change.type === "changed" && !isSameLedger(change.before, change.object))
        wake(resource.codec.identify(change.object).key);
    });
    this.#pods = selectedPods.needs((key, change) => {
      if (change === undefined || matters(key, change)) wake(key);
    });
    this.#workloads = new Workloads(deps, wake);
  }

  coalescingMs(key: string): number {
    return Math.max(LEAST_GATHERING_MS, longestGatheringMs(this.#sizes.get(key) ?? 0));
  }

  forget(key: string): void {
    this.#pods.release(key);
    this.#workloads.release(key);
    this.#sizes.delete(key);
  }

  async reconcile(object: WorkloadSpread, key: string): Promise<Pass | undefined> {
    if (object.metadata.deletionTimestamp !== undefined) return undefined;
    const namespace = object.metadata.namespace ?? "";
    const [held] = this.#pods.need(key, [{ namespace, labels: "all" }]) ?? [];
    const workload = await this.#workloads.find(key, object);
    if (held === undefined || workload === undefined || !this.#deps.objects.holds(key, object.metadata.uid))
      return undefined;
    const pods = podsOfWorkload(object, workload, held.values());
    this.#sizes.set(key, pods.length);
    const { size, latestVersion, polled } = workload;
    const adopted = await this.#adopt(object, workload, pods);
    const now = this.#deps.clock.now();
    const plan = planWorkloadSpread({ object, size, pods, adopted, latestVersion, now });
    // Pods that are taken over are read for it: all of them at once, or they would be read again.
    const adoptions = plan.patches.filter(({ pod }) => adopted.has(pod.uid));
    const costs = plan.patches.filter(({ pod }) => !adopted.has(pod.uid));
    const isWaiting = polled === true || (object.spec.targetRef.kind === "Deployment" && !latestVersion);
    const actions: Step[] = [
      // On the version that the plan saw: admission writes it, too. Before all that takes time, in which admission would.
      { type: "patch status", status: createMergePatch(object.status ?? {}, plan.status), exact: true },
      // Once they are no longer in the status: a pass that meets another write is run again.
      ...plan.events.map((event): Step => ({ type: "event", event })),
      () => this.#patch(object, [...adoptions, ...costs.slice(0, MOST_COSTS)], held),
      () => this.#delete(object, plan.givenUp),
    ];
    return {
      actions,
      requeueAfterMs: earliest([
        plan.requeueAfterMs,
        isWaiting ? POLL_MS : undefined,
        costs.length > MOST_COSTS ? LEAST_GATHERING_MS : undefined,
      ]),
    };
  }

  /** Subsets of pods that were there before the object, by UID. */
  async #adopt(
    object: WorkloadSpread,
    { size }: SpreadWorkload,
    pods: readonly Pod[],
  ): Promise<ReadonlyMap<string, string>> {
    const { subsets } = object.spec;
    const { client, caches } = this.#deps;
    const adopted = new Map<string, string>();
    const counts = new Map<string, number>();
    const count = (subset: string) => counts.set(subset, (counts.get(subset) ?? 0) + 1);
    for (const pod of pods) {
      const match = ownMatch(object, pod);
      if (match !== undefined && isActive(pod)) count(match.subset);
    }
    for (const pod of pods) {
      const node = pod.nodeName === "" ? undefined : caches.nodes.get(pod.nodeName);
      if (node === undefined || ownMatch(object, pod) !== undefined || !isActive(pod)) continue;
      const { namespace, name } = pod;
      let whole: JsonObject;
      try {
        whole = { ...(await client.get(wholePodResource, { namespace, name })) };
      } catch (error) {
        if (isKubeError(error, "NotFound")) continue;
        throw error;
      }
      const subset = subsetOfExisting(
        whole,
        node,
        subsets,
        (each) => (counts.get(each.name) ?? 0) < (capOf(each, size) ?? Number.POSITIVE_INFINITY),
      );
      if (subset === undefined) continue;
      adopted.set(pod.uid, subset);
      count(subset);
    }
    return adopted;
  }

  async #patch(
    { metadata }: WorkloadSpread,
    patches: readonly PodPatch[],
    held: HeldPods<Pod>,
  ): Promise<void> {
    const { client, signal, recorder } = this.#deps;
    const flow = metadata.uid ?? "";
    const patch = async ({ pod, metadata: given }: PodPatch): Promise<void> => {
      const body = { metadata: { ...given, uid: pod.uid } };
      try {
        const ref = { namespace: pod.namespace, name: pod.name };
        held.writeBack(await client.patch(podResource, ref, { type: "strategic", body }, { flow, signal }));
      } catch (error) {
        if (isKubeError(error, "NotFound", "Conflict")) return;
        const message = `Failed to patch deletion-cost annotation to Pod ${pod.namespace}/${pod.name}: ${messageOf(error)}`;
        const target = eventTarget(workloadSpreadResource, metadata);
        recorder.event(target, "Warning", "PatchPodDeletionCostFailed", message);
        throw error;
      }
    };
    // The client's window bounds what is in flight.
    await Promise.all(patches.map(patch));
  }

  async #delete({ metadata }: WorkloadSpread, pods: readonly GivenUp[]): Promise<void> {
    const { client, signal, recorder } = this.#deps;
    const { namespace = "", name = "", uid: flow = "" } = metadata;
    for (const { pod, subset } of pods) {
      try {
        const { uid } = pod;
        await client.delete(podResource, { namespace, name: pod.name }, { uid, flow, signal });
      } catch (error) {
        if (isKubeError(error, "NotFound", "Conflict")) continue;
        // The words are the API's own.
        const message = `Failed to delete unschedulabe Pod ${namespace}/${pod.name} in Subset ${subset} of WorkloadSpread ${namespace}/${name}`;
        recorder.event(eventTarget(workloadSpreadResource, metadata), "Warning", "DeletePodFailed", message);
        throw error;
      }
    }
  }
}

function isSameLedger(before: WorkloadSpread, after: WorkloadSpread): boolean {
  return jsonEqual(before.status?.versionedSubsetStatuses, after.status?.versionedSubsetStatuses);
}

/** Rule 15: pods of the object that come, go, end, find no node or change their version. */
function matters(key: string, change: Change<Pod>): boolean {
  const { object } = change;
  const match = matchOf(object.annotations[matchedWorkloadSpreadAnnotation]);
  if (match === undefined || `${object.namespace}/${match.name}` !== key) return false;
  if (change.type !== "changed") return true;
  const { before } = change;
  const version = ({ controller, labels }: Pod) => versionOf(controller?.kind ?? "", labels);
  return (
    isActive(before) !== isActive(object) ||
    isUnschedulable(before) !== isUnschedulable(object) ||
    version(before) !== version(object)
  );
}
