/**
 * PersistentPodStates: follows the workloads that are recorded or ask for a record, reads the caches and plans. No policy
 * lives here.
 */
import { groupOf, type PersistentPodState, type StatefulSet } from "../../../crds/index.ts";
import type { Labels, ObjectMeta } from "../../../kube/core/index.ts";
import type { Cache, Change, Pod } from "../../../kube/index.ts";
import { type NativeStatefulSet, nativeStatefulSetResource } from "../../native/stateful_set.ts";
import { earliest } from "../../plan/earliest.ts";
import type { KindEffect, Outcomes } from "../../plan/effects.ts";
import { GROUP, groupVersionOf, statefulSetResource } from "../../plan/resources.ts";
import { isActive, isReady } from "../../rollout/pods/pod_state.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { SelectionNeeds } from "../../runtime/selected_objects.ts";
import { asksForState, generationChanged, planGeneration, type Workload } from "./generate.ts";
import { advancedTarget, nativeTarget, type PersistentPodStateOptions, type Target } from "./observe.ts";
import { planPersistentPodState } from "./plan.ts";
import { targetIndex, targetValue } from "./targets.ts";

const ADVANCED = GROUP;
const NATIVE = "apps";
const STATEFUL_SET = "StatefulSet";
/** How soon a node that was not known, or a name that was taken, is looked at again; milliseconds. */
const RETRY_MS = 1000;

/** What both StatefulSets have. */
interface WorkloadObject {
  readonly metadata: ObjectMeta;
}

export class PersistentPodStateReconciler implements Reconciler<PersistentPodState> {
  readonly remembersByStatus = true;
  readonly #deps: KindDeps<PersistentPodState>;
  readonly #options: PersistentPodStateOptions;
  readonly #advanced: Cache<StatefulSet>;
  readonly #native: Cache<NativeStatefulSet>;
  readonly #pods: SelectionNeeds<Pod>;
  /** Workloads whose annotations are still to be acted on, by the key of their object and `apps` or `apps.kruise.io`. */
  readonly #asking = new Map<string, Map<string, ObjectMeta>>();
  /** Which of them are acted on once these effects are carried out. */
  readonly #answering = new WeakMap<object, ReadonlyMap<string, ObjectMeta>>();
  /** Keys of objects whose workload has gone since they were planned last; there may be another one of its name. */
  readonly #orphaned = new Set<string>();

  constructor(deps: KindDeps<PersistentPodState>) {
    this.#deps = deps;
    this.#options = { startOrdinal: deps.options.gates.StatefulSetStartOrdinal };
    deps.informers.cacheOf(deps.resource, targetIndex);
    this.#advanced = deps.informers.cacheOf(statefulSetResource);
    this.#native = deps.informers.cacheOf(nativeStatefulSetResource);
    this.#pods = deps.selectedPods.needs((key, change) => {
      if (change === undefined || matters(change)) deps.queue.add(key);
    });
    this.#advanced.subscribe((change) => this.#onWorkload(ADVANCED, change));
    this.#native.subscribe((change) => this.#onWorkload(NATIVE, change));
  }

  forget(key: string): void {
    this.#pods.release(key);
    this.#orphaned.delete(key);
  }

  reconcileAbsent(key: string): Result {
    return this.#generate(key, undefined);
  }

  reconcile(object: PersistentPodState, key: string): Result {
    const generated = this.#generate(key, object);
    if (object.metadata.deletionTimestamp !== undefined) return generated;
    const { target, pods } = this.#targetOf(key, object);
    if (pods === undefined) return generated;
    const { nodes } = this.#deps.caches;
    const nodeLabels = (name: string): Labels | undefined => nodes.get(name)?.labels;
    // Rule 10, also where no pass has seen that the workload was missing.
    const known = this.#orphaned.delete(key) ? withoutRecords(object) : object;
    const { status, unknownNodes } = planPersistentPodState({ object: known, target, pods, nodeLabels });
    const retryMs = unknownNodes.length > 0 ? RETRY_MS : undefined;
    return {
      ...generated,
      status,
      // One that comes late is of another object of this name, or knows less than what is stored by then.
      exactStatus: true,
      size: Object.keys(status.podStates ?? {}).length,
      requeueAfterMs: earliest([generated.requeueAfterMs, retryMs]),
    };
  }

  /** The target and its pods; pods are undefined while they are still being listed, which enqueues the key. */
  #targetOf(
    key: string,
    object: PersistentPodState,
  ): { target: Target | undefined; pods: readonly Pod[] | undefined } {
    const { targetRef } = object.spec;
    const namespace = object.metadata.namespace ?? "";
    const name = `${namespace}/${targetRef.name}`;
    const group = targetRef.kind === STATEFUL_SET ? groupOf(targetRef.apiVersion) : "";
    const advanced = group === ADVANCED ? this.#advanced.get(name) : undefined;
    const native = group === NATIVE ? this.#native.get(name) : undefined;
    const labels = advanced?.spec.selector ?? native?.selector;
    if (labels === undefined) {
      this.#pods.release(key);
      return { target: undefined, pods: [] };
    }
    const target = advanced ? advancedTarget(advanced, this.#options) : native && nativeTarget(native);
    const [held] = this.#pods.need(key, [{ namespace, labels }]) ?? [];
    return { target, pods: held && [...held.values()].filter((pod) => pod.controller?.uid === target?.uid) };
  }

  /** What annotations of workloads with the object's name ask for. */
  #generate(key: string, present: PersistentPodState | undefined): Result {
    const effects: KindEffect[] = [];
    const answered = new Map<string, ObjectMeta>();
    let requeueAfterMs: number | undefined;
    for (const [group, asked] of this.#asking.get(key) ?? []) {
      const workload = this.#workloadOf(group, key);
      const generation = workload && planGeneration(workload, present);
      if (generation?.type === "wait") {
        requeueAfterMs = RETRY_MS;
        continue;
      }
      if (generation !== undefined && generation.type !== "nothing") effects.push(generation);
      else if (generation?.why === "not ours" && present !== undefined)
        this.#deps.log.info("an object that was not made from annotations is left as it is", { object: key });
      answered.set(group, asked);
    }
    this.#answering.set(effects, answered);
    return { effects, requeueAfterMs };
  }

  executed(key: string, { effects }: Result, { error }: Outcomes): void {
    if (error !== undefined || effects === undefined) return;
    const asking = this.#asking.get(key);
    // What was asked for meanwhile is left to the next pass.
    for (const [group, answered] of this.#answering.get(effects) ?? [])
      if (asking?.get(group) === answered) asking.delete(group);
    if (asking?.size === 0) this.#asking.delete(key);
  }

  #workloadOf(group: string, key: string): Workload | undefined {
    const isNative = group === NATIVE;
    const found = isNative ? this.#native.get(key) : this.#advanced.get(key);
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) return undefined;
    const resource = isNative ? nativeStatefulSetResource : statefulSetResource;
    return { apiVersion: groupVersionOf(resource), kind: resource.kind, metadata: found.metadata };
  }

  #onWorkload<T extends WorkloadObject>(group: string, change: Change<T>): void {
    const { metadata } = change.object;
    const key = `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
    const before = change.type === "changed" ? change.before.metadata : undefined;
    if (before === undefined || generationChanged(before.annotations, metadata.annotations)) {
      if (change.type === "changed" || (change.type === "added" && asksForState(metadata.annotations))) {
        this.#asking.set(key, (this.#asking.get(key) ?? new Map()).set(group, metadata));
        this.#deps.queue.add(key);
      }
    }
    const isSame =
      before?.generation === metadata.generation && before?.deletionTimestamp === metadata.deletionTimestamp;
    if (isSame) return;
    for (const targeting of this.#targeting(metadata.namespace ?? "", group, metadata.name ?? "")) {
      if (change.type === "removed") this.#orphaned.add(targeting);
      this.#deps.queue.add(targeting);
    }
  }

  #targeting(namespace: string, group: string, name: string): string[] {
    const { objects, resource } = this.#deps;
    const found = objects.byIndex("target", targetValue(namespace, group, STATEFUL_SET, name));
    return Array.from(found, (object) => resource.codec.identify(object).key);
  }
}

function withoutRecords({ status: _, ...object }: PersistentPodState): PersistentPodState {
  return object;
}

/** Only what can change a record: a pod that becomes Ready, moves, is adopted, is being deleted or is gone (rule 1). */
function matters(change: Change<Pod>): boolean {
  if (change.type !== "changed") return change.type === "removed" || isReady(change.object);
  const { before, object } = change;
  const isSame =
    isReady(before) &&
    before.nodeName === object.nodeName &&
    before.controller?.uid === object.controller?.uid;
  return (isReady(object) && !isSame) || isActive(before) !== isActive(object);
}
