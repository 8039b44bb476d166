/** WorkloadSpreads: follows workload and pods of each object, plans, writes costs and removes pods that no node takes. No policy lives here. */
import { matchedWorkloadSpreadAnnotation, type WorkloadSpread } from "../../../crds/index.ts";
import { jsonEqual } from "../../../kube/core/index.ts";
import { type Change, ignoreNotFound, type Pod, podResource } from "../../../kube/index.ts";
import { wholePodResource } from "../../native/whole_pod.ts";
import { earliest } from "../../plan/earliest.ts";
import type { WriteEffect } from "../../plan/effects.ts";
import { statusPauseMs } from "../../rollout/delays.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import { exactStatus } from "../../runtime/exact_status.ts";
import { writable } from "../../runtime/executor/writable.ts";
import { namespaceIndex } from "../../runtime/informers.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import { KnownEntries } from "../../runtime/known_entries.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { SelectionNeeds, SelectionReader } from "../../runtime/selected_objects.ts";
import { matchOf } from "./inject.ts";
import { observeWorkloadSpread, type WorkloadSpreadObserved, workloadSpreadInput } from "./observe.ts";
import { type GivenUp, type PodPatch, planWorkloadSpread } from "./plan.ts";
import { isUnschedulable } from "./status.ts";
import { versionOf } from "./versions.ts";
import { Workloads } from "./workloads.ts";

/** Workloads that nobody watches, and Deployments whose controller is still to look, are asked for again after so long. */
const POLL_MS = 10_000;
const LEAST_GATHERING_MS = 50;

/** Costs that one pass writes: what admission has recorded is counted again between them. */
const MOST_COSTS = 64;

/** What a pass saw beside the object: a renewed plan is made with it. */
interface Followed extends WorkloadSpreadObserved {
  readonly held: SelectionReader<Pod>;
}

export class WorkloadSpreadReconciler implements Reconciler<WorkloadSpread> {
  readonly writes = {
    pods: writable(podResource, { writeBack: (pod, key) => this.#pods.held(key)?.[0]?.writeBack(pod) }),
  };
  readonly #deps: KindDeps<WorkloadSpread>;
  readonly #pods: SelectionNeeds<Pod>;
  readonly #workloads: Workloads;
  /** Pods in the last pass over each key. */
  readonly #sizes = new Map<string, number>();
  /** By key, of the last pass. */
  readonly #observed = new Map<string, Followed>();
  readonly #entries: KnownEntries;

  constructor(deps: KindDeps<WorkloadSpread>) {
    this.#deps = deps;
    this.#entries = new KnownEntries(deps.clock);
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
    this.#observed.delete(key);
    this.#entries.forget(key);
  }

  async reconcile(object: WorkloadSpread, key: string): Promise<Result | undefined> {
    if (object.metadata.deletionTimestamp !== undefined) return undefined;
    const { client, caches } = this.#deps;
    const namespace = object.metadata.namespace ?? "";
    const [held] = this.#pods.need(key, [{ namespace, labels: "all" }]) ?? [];
    const workload = await this.#workloads.find(key, object);
    if (held === undefined || workload === undefined || !this.#deps.objects.holds(key, object.metadata.uid))
      return undefined;
    const found = await observeWorkloadSpread(object, workload, {
      pods: held,
      nodes: caches.nodes,
      wholePod: ({ name }) => client.get(wholePodResource, { namespace, name }).catch(ignoreNotFound),
    });
    const observed = { ...found, held };
    this.#observed.set(key, observed);
    return this.#plan(object, key, observed);
  }

  renewed(object: WorkloadSpread, key: string): Result | undefined {
    const observed = this.#observed.get(key);
    return observed && this.#plan(object, key, observed);
  }

  #plan(object: WorkloadSpread, key: string, observed: Followed): Result {
    const { adopted, workload } = observed;
    const input = workloadSpreadInput(
      object,
      observed,
      { pods: observed.held },
      {
        now: this.#deps.clock.now(),
        knownFor: this.#entries.ages(key, ledgersOf(object)),
      },
    );
    this.#sizes.set(key, input.pods.length);
    const plan = planWorkloadSpread(input);
    // Pods that are taken over are read for it: all of them at once, or they would be read again.
    const isAdoption = ({ pod }: PodPatch) => adopted.has(pod.uid);
    const costs = plan.patches.filter((patch) => !isAdoption(patch));
    const patches = [...plan.patches.filter(isAdoption), ...costs.slice(0, MOST_COSTS)];
    const isUnversioned = object.spec.targetRef.kind === "Deployment" && !workload.latestVersion;
    const isWaiting = workload.polled === true || isUnversioned;
    return {
      effects: [
        // Before all that takes time, in which admission writes, too.
        exactStatus(object, plan.status),
        // Once they are no longer in the status: a pass that meets another write is run again.
        ...plan.events.map((event) => ({ type: "event", event }) as const),
        { type: "writes", pace: "at once", writes: patches.map(patchOf) },
        ...plan.givenUp.map((givenUp) => deletionOf(object, givenUp)),
      ],
      requeueAfterMs: earliest([
        plan.requeueAfterMs,
        isWaiting ? POLL_MS : undefined,
        costs.length > MOST_COSTS ? LEAST_GATHERING_MS : undefined,
      ]),
    };
  }
}

function patchOf({ pod, metadata }: PodPatch): WriteEffect {
  const { namespace, name, uid } = pod;
  const message = `Failed to patch deletion-cost annotation to Pod ${namespace}/${name}: {error}`;
  return {
    type: "patch",
    resource: "pods",
    namespace,
    name,
    patch: { type: "strategic", body: { metadata: { ...metadata, uid } } },
    whenRaced: "ignore",
    failed: { type: "event", event: { type: "Warning", reason: "PatchPodDeletionCostFailed", message } },
  };
}

function deletionOf({ metadata }: WorkloadSpread, { pod, subset }: GivenUp): WriteEffect {
  const { namespace, name, uid } = pod;
  // The words are the API's own.
  const message = `Failed to delete unschedulabe Pod ${namespace}/${name} in Subset ${subset} of WorkloadSpread ${metadata.namespace}/${metadata.name}`;
  const failed = { type: "event", event: { type: "Warning", reason: "DeletePodFailed", message } } as const;
  return { type: "delete", resource: "pods", namespace, name, uid, failed };
}

/** Pods that admission expects to come and to go, by subset. */
function ledgersOf({ status }: WorkloadSpread): (Record<string, string> | undefined)[] {
  const { subsetStatuses = [], versionedSubsetStatuses = {} } = status ?? {};
  const all = [...subsetStatuses, ...Object.values(versionedSubsetStatuses).flat()];
  return all.flatMap(({ creatingPods, deletingPods }) => [creatingPods, deletingPods]);
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
