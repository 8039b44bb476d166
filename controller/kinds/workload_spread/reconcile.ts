/** WorkloadSpreads: follows workload and pods of each object, plans, writes costs and removes pods that no node takes. No policy lives here. */
import { matchedWorkloadSpreadAnnotation, type WorkloadSpread } from "../../../crds/index.ts";
import { type JsonObject, jsonEqual } from "../../../kube/core/index.ts";
import {
  type Change,
  ignoreNotFound,
  isKubeError,
  messageOf,
  type Pod,
  podResource,
} from "../../../kube/index.ts";
import { earliest } from "../../plan/earliest.ts";
import { statusPauseMs } from "../../rollout/delays.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import { exactStatus } from "../../runtime/exact_status.ts";
import { namespaceIndex } from "../../runtime/informers.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Pass, Reconciler, Step } from "../../runtime/reconciler.ts";
import type { HeldPods, PodNeeds } from "../../runtime/selected_pods.ts";
import { eventTarget } from "../../runtime/shell.ts";
import { adoptedPods } from "./adopt.ts";
import { matchOf } from "./inject.ts";
import { type GivenUp, type PodPatch, planWorkloadSpread, type SpreadPlan } from "./plan.ts";
import { workloadSpreadResource } from "./resource.ts";
import { isUnschedulable } from "./status.ts";
import { podsOfWorkload } from "./target_workload.ts";
import { versionOf } from "./versions.ts";
import { wholePodResource } from "./whole_pod.ts";
import { Workloads } from "./workloads.ts";

/** Workloads that nobody watches, and Deployments whose controller is still to look, are asked for again after so long. */
const POLL_MS = 10_000;
const LEAST_GATHERING_MS = 50;

/** Costs that one pass writes: what admission has recorded is counted again between them. */
const MOST_COSTS = 64;

export class WorkloadSpreadReconciler implements Reconciler<WorkloadSpread> {
  readonly #deps: KindDeps<WorkloadSpread>;
  readonly #pods: PodNeeds<Pod>;
  readonly #workloads: Workloads;
  /** Pods in the last pass over each key. */
  readonly #sizes = new Map<string, number>();

  constructor(deps: KindDeps<WorkloadSpread>) {
    this.#deps = deps;
    const { informers, queue, resource, selectedPods } = deps;
    const enqueue = (key: string): void => queue.addAfter(key, this.coalescingMs(key));
    informers.cacheOf(resource, namespaceIndex);
    deps.objects.subscribe((change) => {
      // What admission records is to be looked at again in time.
      if (change.type === "changed" && !isSameLedger(change.before, change.object))
        enqueue(resource.codec.identify(change.object).key);
    });
    this.#pods = selectedPods.needs((key, change) => {
      if (change === undefined || matters(key, change)) enqueue(key);
    });
    this.#workloads = new Workloads(deps, enqueue);
  }

  /** Admission writes the status, too, and each pass writes it: fewer passes meet fewer writes of the same burst. */
  coalescingMs(key: string): number {
    return Math.max(LEAST_GATHERING_MS, statusPauseMs(this.#sizes.get(key) ?? 0));
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
    const adopted = await adoptedPods({
      object,
      size,
      pods,
      nodeOf: ({ nodeName }) => (nodeName === "" ? undefined : this.#deps.caches.nodes.get(nodeName)),
      wholePod: (pod) => this.#wholePod(pod),
    });
    const planOf = (seen: WorkloadSpread) =>
      planWorkloadSpread({
        object: seen,
        size,
        pods: podsOfWorkload(seen, workload, held.values()),
        adopted,
        latestVersion,
        now: this.#deps.clock.now(),
      });
    let plan = planOf(object);
    // Of the pods of which is known whether they are taken over.
    const { patches, requeueAfterMs } = plan;
    const statusOf = (seen: WorkloadSpread) => {
      plan = planOf(seen);
      return plan.status;
    };
    // Pods that are taken over are read for it: all of them at once, or they would be read again.
    const isAdoption = ({ pod }: PodPatch) => adopted.has(pod.uid);
    const adoptions = patches.filter(isAdoption);
    const costs = patches.filter((patch) => !isAdoption(patch));
    const isWaiting = polled === true || (object.spec.targetRef.kind === "Deployment" && !latestVersion);
    const actions: Step[] = [
      // Before all that takes time, in which admission writes, too.
      exactStatus(this.#deps.objects, key, object, plan.status, statusOf),
      // Once they are no longer in the status: a pass that meets another write is run again.
      async () => this.#report(object, plan),
      () => this.#patch(object, [...adoptions, ...costs.slice(0, MOST_COSTS)], held),
      () => this.#delete(object, plan.givenUp),
    ];
    return {
      actions,
      requeueAfterMs: earliest([
        requeueAfterMs,
        isWaiting ? POLL_MS : undefined,
        costs.length > MOST_COSTS ? LEAST_GATHERING_MS : undefined,
      ]),
    };
  }

  #report({ metadata }: WorkloadSpread, { events }: SpreadPlan): void {
    const target = eventTarget(workloadSpreadResource, metadata);
    for (const { type, reason, message } of events) this.#deps.recorder.event(target, type, reason, message);
  }

  /** A pod as a whole; undefined for one that is gone. */
  async #wholePod({ namespace, name }: Pod): Promise<JsonObject | undefined> {
    const whole = await this.#deps.client.get(wholePodResource, { namespace, name }).catch(ignoreNotFound);
    return whole && { ...whole };
  }

  async #patch(
    { metadata }: WorkloadSpread,
    patches: readonly PodPatch[],
    held: HeldPods<Pod>,
  ): Promise<void> {
    const { writesFor, signal, recorder } = this.#deps;
    const { namespace = "", uid: flow = "" } = metadata;
    const writer = writesFor({ namespace });
    const patch = async ({ pod, metadata: given }: PodPatch): Promise<void> => {
      const body = { metadata: { ...given, uid: pod.uid } };
      try {
        const ref = { namespace: pod.namespace, name: pod.name };
        held.writeBack(await writer.patch(podResource, ref, { type: "strategic", body }, { flow, signal }));
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
    const { writesFor, signal, recorder } = this.#deps;
    const { namespace = "", name = "", uid: flow = "" } = metadata;
    const writer = writesFor({ namespace });
    for (const { pod, subset } of pods) {
      try {
        const { uid } = pod;
        await writer.delete(podResource, { namespace, name: pod.name }, { uid, flow, signal });
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
