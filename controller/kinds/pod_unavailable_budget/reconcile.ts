/**
 * PodUnavailableBudgets: follows the pods of each budget and the workloads behind them, plans, links pods to their budget.
 * No policy lives here.
 */
import {
  type CloneSet,
  oldRelatedBudgetAnnotation,
  type PodUnavailableBudget,
  relatedBudgetAnnotation,
  type StatefulSet,
} from "../../../crds/index.ts";
import { keyOf, type ObjectMeta, refOf } from "../../../kube/core/index.ts";
import { type Cache, type Change, type EventTarget, type Pod, podResource } from "../../../kube/index.ts";
import { scaleOf } from "../../native/scale_lookup.ts";
import { type NativeStatefulSet, nativeStatefulSetResource } from "../../native/stateful_set.ts";
import { deploymentResource, type NativeWorkload, replicaSetResource } from "../../native/workload.ts";
import { earliest } from "../../plan/earliest.ts";
import type { EventEffect, WriteEffect, WritesEffect } from "../../plan/effects.ts";
import { eventTarget } from "../../plan/event_target.ts";
import { cloneSetResource, statefulSetResource } from "../../plan/resources.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import { exactStatus } from "../../runtime/exact_status.ts";
import { writable } from "../../runtime/executor/writable.ts";
import { namespaceIndex } from "../../runtime/informers.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import { KnownEntries } from "../../runtime/known_entries.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { SelectionNeeds, SelectionReader } from "../../runtime/selected_objects.ts";
import { type BudgetPlan, planBudget } from "./plan.ts";
import { isAvailableToBudget, isMarked, mayProtect } from "./pod_facts.ts";
import {
  type FoundWorkload,
  type Protected,
  podsOfTarget,
  replicasOfControllers,
  type WorkloadSource,
} from "./workloads.ts";

/** Workloads that nobody watches are looked at again after so long. */
const POLL_MS = 10_000;

/** What a pass saw beside the object: a renewed plan is made with it. */
interface Observed {
  readonly source: FollowedSource;
  readonly found: Protected;
}

interface FollowedSource extends WorkloadSource {
  /** Of the namespace, as far as the budget selects any. */
  readonly pods: readonly Pod[];
  /** What is known by now of the pods that are still there. */
  current(pods: readonly Pod[]): readonly Pod[];
  /** Whether a workload was asked for that nobody watches. */
  asked(): boolean;
}

export class PodUnavailableBudgetReconciler implements Reconciler<PodUnavailableBudget> {
  readonly writes = { pods: writable(podResource) };
  readonly #deps: KindDeps<PodUnavailableBudget>;
  readonly #pods: SelectionNeeds<Pod>;
  /** By key, of the last pass. */
  readonly #observed = new Map<string, Observed>();
  readonly #deployments: SelectionNeeds<NativeWorkload>;
  readonly #replicaSets: SelectionNeeds<NativeWorkload>;
  readonly #entries: KnownEntries;
  readonly #cloneSets: Cache<CloneSet>;
  readonly #statefulSets: Cache<StatefulSet>;
  readonly #nativeSets: Cache<NativeStatefulSet>;

  constructor(deps: KindDeps<PodUnavailableBudget>) {
    this.#deps = deps;
    this.#entries = new KnownEntries(deps.clock);
    const { informers, queue, selectObjects, resource } = deps;
    informers.cacheOf(resource, namespaceIndex);
    this.#pods = deps.selectedPods.needs((key, change) => {
      if (change === undefined || matters(change)) queue.add(key);
    });
    const enqueue = (key: string, change?: Change<NativeWorkload>): void => {
      if (change === undefined || isResized(change, ({ replicas, terminating }) => [replicas, terminating]))
        queue.add(key);
    };
    this.#deployments = selectObjects(deploymentResource).needs(enqueue);
    this.#replicaSets = selectObjects(replicaSetResource).needs(enqueue);
    this.#cloneSets = informers.cacheOf(cloneSetResource);
    this.#statefulSets = informers.cacheOf(statefulSetResource);
    this.#nativeSets = informers.cacheOf(nativeStatefulSetResource);
    const custom = ({ spec, metadata }: CloneSet | StatefulSet) => [
      spec.replicas,
      metadata.deletionTimestamp,
    ];
    this.#cloneSets.subscribe((change) => this.#onWorkload(change, custom));
    this.#statefulSets.subscribe((change) => this.#onWorkload(change, custom));
    this.#nativeSets.subscribe((change) =>
      this.#onWorkload(change, ({ replicas, metadata }) => [replicas, metadata.deletionTimestamp]),
    );
  }

  forget(key: string): void {
    this.#pods.release(key);
    this.#deployments.release(key);
    this.#replicaSets.release(key);
    this.#observed.delete(key);
    this.#entries.forget(key);
    // Pods that it protected may be another's from now on.
    this.#enqueueNamespace(refOf(key).namespace ?? "");
  }

  async reconcile(object: PodUnavailableBudget, key: string): Promise<Result | undefined> {
    if (object.metadata.deletionTimestamp !== undefined) return undefined;
    const source = this.#sourceOf(key, object);
    if (source === undefined) return undefined;
    const found = await this.#protected(object, source);
    this.#observed.set(key, { source, found });
    const { effects, requeueAfterMs } = this.#plan(key, object, found);
    return { effects, requeueAfterMs: earliest([requeueAfterMs, source.asked() ? POLL_MS : undefined]) };
  }

  /** Pods as they are by now; those that came since are counted by the next pass. */
  renewed(object: PodUnavailableBudget, key: string): Result | undefined {
    const observed = this.#observed.get(key);
    if (observed === undefined) return undefined;
    const { source, found } = observed;
    const [pods, former] = [source.current(found.pods), source.current(found.former)];
    return this.#plan(key, object, { ...found, pods, former });
  }

  #plan(key: string, object: PodUnavailableBudget, found: Protected): Result {
    const { objects, clock } = this.#deps;
    const { namespace = "" } = object.metadata;
    const isProtectedBy = (name: string, pod: Pod) =>
      mayProtect(objects.get(keyOf({ namespace, name })), pod);
    const { disruptedPods, unavailablePods } = object.status ?? {};
    const knownFor = this.#entries.ages(key, [disruptedPods, unavailablePods]);
    const plan = planBudget({ object, ...found, isProtectedBy, knownFor, now: clock.now() });
    const effects = [...eventsOf(object, plan), exactStatus(object, plan.status), linksOf(object, plan)];
    return { effects, requeueAfterMs: plan.requeueAfterMs };
  }

  async #protected(object: PodUnavailableBudget, source: FollowedSource): Promise<Protected> {
    if (object.spec.targetRef) return podsOfTarget(object, source.pods, source);
    const totalReplicas = await replicasOfControllers(object.metadata.namespace ?? "", source.pods, source);
    return { pods: source.pods, former: [], totalReplicas };
  }

  /** Undefined while anything that the budget needs is still being listed. */
  #sourceOf(key: string, { metadata, spec }: PodUnavailableBudget): FollowedSource | undefined {
    const namespace = metadata.namespace ?? "";
    const everything = [{ namespace, labels: "all" as const }];
    const selection = spec.selector ? [{ namespace, labels: spec.selector }] : everything;
    const [pods] = this.#pods.need(key, selection) ?? [];
    const [deployments] = this.#deployments.need(key, everything) ?? [];
    const [replicaSets] = this.#replicaSets.need(key, everything) ?? [];
    if (pods === undefined || deployments === undefined || replicaSets === undefined) return undefined;
    let asked = false;
    return {
      pods: [...pods.values()],
      current: (some) =>
        some.flatMap((pod) => {
          const held = pods.get(keyOf(pod));
          return held?.uid === pod.uid ? [held] : [];
        }),
      asked: () => asked,
      known: (within, group, kind, name) =>
        this.#known(`${within}/${name}`, `${group}/${kind}`, deployments, replicaSets),
      replicaSetsOf: (_namespace, uid) =>
        [...replicaSets.values()]
          .filter(({ controller, terminating }) => controller?.uid === uid && !terminating)
          .map((set) => set.uid),
      scaleOf: (reference) => {
        asked = true;
        return scaleOf(this.#deps.client, reference);
      },
    };
  }

  #known(
    key: string,
    kind: string,
    deployments: SelectionReader<NativeWorkload>,
    replicaSets: SelectionReader<NativeWorkload>,
  ): FoundWorkload | "unknown" | undefined {
    switch (kind) {
      case "apps/Deployment":
        return deployments.get(key);
      case "apps/ReplicaSet":
        return replicaSets.get(key);
      case "apps/StatefulSet":
        return foundOf(this.#nativeSets.get(key), (set) => set.replicas);
      case "apps.kruise.io/StatefulSet":
        return foundOf(this.#statefulSets.get(key), ({ spec }) => spec.replicas ?? 1);
      case "apps.kruise.io/CloneSet":
        return foundOf(this.#cloneSets.get(key), ({ spec }) => spec.replicas ?? 1);
      default:
        return "unknown";
    }
  }

  #onWorkload<T extends { readonly metadata: ObjectMeta }>(
    change: Change<T>,
    sizeOf: (object: T) => readonly unknown[],
  ): void {
    if (isResized(change, sizeOf)) this.#enqueueNamespace(change.object.metadata.namespace ?? "");
  }

  #enqueueNamespace(namespace: string): void {
    for (const { metadata } of this.#deps.objects.byIndex("namespace", namespace)) {
      this.#deps.queue.add(keyOf({ namespace, name: metadata.name ?? "" }));
    }
  }
}

/** The annotations by which pods name their budget. */
function linksOf({ metadata }: PodUnavailableBudget, { link, unlink }: BudgetPlan): WritesEffect {
  const { name = "", namespace = "" } = metadata;
  const naming =
    (budget: string | null) =>
    (pod: Pod): WriteEffect => {
      const annotations = { [relatedBudgetAnnotation]: budget, [oldRelatedBudgetAnnotation]: budget };
      const patch = { type: "strategic", body: { metadata: { uid: pod.uid, annotations } } } as const;
      return { type: "patch", resource: "pods", namespace, name: pod.name, patch, whenRaced: "ignore" };
    };
  return {
    type: "writes",
    pace: "at once",
    writes: [...link.map(naming(name)), ...unlink.map(naming(null))],
  };
}

function foundOf<T extends { readonly metadata: ObjectMeta }>(
  object: T | undefined,
  replicas: (object: T) => number,
): FoundWorkload | undefined {
  if (object === undefined) return undefined;
  const { uid = "", deletionTimestamp } = object.metadata;
  return { uid, replicas: replicas(object), terminating: deletionTimestamp !== undefined };
}

function isResized<T>(change: Change<T>, sizeOf: (object: T) => readonly unknown[]): boolean {
  if (change.type !== "changed") return true;
  return JSON.stringify(sizeOf(change.before)) !== JSON.stringify(sizeOf(change.object));
}

/**
 * Only what can change the counts: a pod comes, goes, is marked, turns available or unavailable (rule 26), or gets another owner, by
 * which it is of the target or not.
 */
function matters(change: Change<Pod>): boolean {
  if (change.type !== "changed") return true;
  const { before, object } = change;
  return (
    isActive(before) !== isActive(object) ||
    isAvailableToBudget(before) !== isAvailableToBudget(object) ||
    isMarked(before) !== isMarked(object) ||
    before.controller?.uid !== object.controller?.uid ||
    before.annotations[relatedBudgetAnnotation] !== object.annotations[relatedBudgetAnnotation]
  );
}

function eventsOf({ metadata }: PodUnavailableBudget, plan: BudgetPlan): EventEffect[] {
  const events: EventEffect[] = [];
  const say = (type: "Normal" | "Warning", reason: string, message: string, about?: EventTarget): void => {
    events.push({
      type: "event",
      event: { type, reason, message },
      ...(about === undefined ? {} : { about }),
    });
  };
  if (plan.isIdle) say("Normal", "NoPods", "No matching pods found");
  if (plan.problem !== undefined) {
    const message = `Failed to calculate the number of expected pods: ${plan.problem}`;
    say("Warning", "CalculateExpectedPodCountFailed", message);
  }
  for (const pod of plan.notDeleted) {
    const message = `Pod was expected by PUB ${metadata.namespace}/${metadata.name} to be deleted but it wasn't`;
    say("Warning", "NotDeleted", message, eventTarget(podResource, pod));
  }
  return events;
}
