/**
 * The shell of PersistentPodState: follows the workloads that are recorded or ask for a record, reads the caches,
 * calls the plans, writes what they return. No policy lives here.
 */
import { groupOf, type PersistentPodState, type StatefulSet } from "../../crds/index.ts";
import { type Labels, type ObjectMeta, refOf } from "../../kube/core/index.ts";
import { type Cache, type Change, isKubeError, type Outcome, type Pod } from "../../kube/index.ts";
import type { KindDeps, KindShell } from "../kind.ts";
import { isActive, isReady } from "../rollout/pod_state.ts";
import { type StatusWriter, statusWriterOf } from "../rollout/status_writer.ts";
import type { PodNeeds } from "../selected_pods.ts";
import { statefulSetResource } from "../stateful_set/resource.ts";
import { asksForState, generationChanged, planGeneration, type Workload } from "./generate.ts";
import { type NativeStatefulSet, nativeStatefulSetResource } from "./native_stateful_set.ts";
import { advancedTarget, nativeTarget, type PersistentPodStateOptions, type Target } from "./observe.ts";
import { planPersistentPodState } from "./plan.ts";
import { targetIndex, targetValue } from "./targets.ts";

const ADVANCED = "apps.kruise.io";
const NATIVE = "apps";
const STATEFUL_SET = "StatefulSet";
/** How soon a node that was not known, or a name that was taken, is looked at again; milliseconds. */
const RETRY_MS = 1000;

export function persistentPodStateShell(deps: KindDeps<PersistentPodState>): KindShell {
  return new PersistentPodStateShell(deps);
}

/** What both StatefulSets have. */
interface WorkloadObject {
  readonly metadata: ObjectMeta;
}

class PersistentPodStateShell implements KindShell {
  readonly #deps: KindDeps<PersistentPodState>;
  readonly #options: PersistentPodStateOptions;
  readonly #advanced: Cache<StatefulSet>;
  readonly #native: Cache<NativeStatefulSet>;
  readonly #pods: PodNeeds<Pod>;
  readonly #status: StatusWriter;
  /** Workloads whose annotations are still to be acted on, by the key of their object: `apps` or `apps.kruise.io`. */
  readonly #asking = new Map<string, Set<string>>();

  constructor(deps: KindDeps<PersistentPodState>) {
    this.#deps = deps;
    this.#options = { startOrdinal: deps.options.gates.StatefulSetStartOrdinal };
    this.#status = statusWriterOf(deps);
    deps.informers.cacheOf(deps.resource, targetIndex);
    this.#advanced = deps.informers.cacheOf(statefulSetResource);
    this.#native = deps.informers.cacheOf(nativeStatefulSetResource);
    this.#pods = deps.selectedPods.needs((key, change) => {
      if (change === undefined || matters(change)) deps.queue.add(key);
    });
    this.#advanced.subscribe((change) => this.#onWorkload(ADVANCED, change));
    this.#native.subscribe((change) => this.#onWorkload(NATIVE, change));
  }

  coalescingMs(): number {
    return 0;
  }

  forget(key: string, uid: string): void {
    this.#status.forget(uid);
    this.#pods.release(key);
  }

  async drained(): Promise<void> {
    // Every write is awaited by the reconcile that made it, or is a status that the next start writes again.
  }

  async reconcile(key: string): Promise<Outcome> {
    const retryMs = await this.#generate(key);
    const object = this.#deps.objects.get(key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined)
      return { wakeAfterMs: retryMs };
    const { target, pods } = this.#targetOf(key, object);
    if (pods === undefined) return { wakeAfterMs: retryMs };
    const { status, unknownNodes } = planPersistentPodState({
      object,
      target,
      pods,
      nodeLabels: (name): Labels | undefined => this.#deps.caches.nodes.get(name)?.labels,
    });
    const records = Object.keys(status.podStates ?? {}).length;
    const heldMs = this.#status.offer(
      { key, uid: object.metadata.uid ?? "" },
      object.status,
      status,
      records,
      false,
    );
    return { wakeAfterMs: earliest(retryMs, heldMs, unknownNodes.length > 0 ? RETRY_MS : undefined) };
  }

  /** The target and its pods; pods are undefined while they are still being listed, which wakes the key. */
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

  /** Acts on the annotations of workloads with the object's name. Returns when to try again, in milliseconds. */
  async #generate(key: string): Promise<number | undefined> {
    let retryMs: number | undefined;
    for (const group of [...(this.#asking.get(key) ?? [])]) {
      const workload = this.#workloadOf(group, key);
      const waits = workload !== undefined && (await this.#carryOut(key, workload));
      if (waits) retryMs = RETRY_MS;
      else this.#asked(key, group);
    }
    return retryMs;
  }

  #workloadOf(group: string, key: string): Workload | undefined {
    const found = group === NATIVE ? this.#native.get(key) : this.#advanced.get(key);
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) return undefined;
    const version = group === NATIVE ? "v1" : "v1beta1";
    return { apiVersion: `${group}/${version}`, kind: STATEFUL_SET, metadata: found.metadata };
  }

  /** True when it has to be tried again later. Throws KubeError. */
  async #carryOut(key: string, workload: Workload): Promise<boolean> {
    const { client, objects, resource, signal, log } = this.#deps;
    const present = objects.get(key);
    const generation = planGeneration(workload, present);
    const uid = present?.metadata.uid ?? "";
    switch (generation.do) {
      case "nothing":
        if (generation.why === "not ours" && present !== undefined)
          log.info("an object that was not made from annotations is left as it is", { object: key });
        return false;
      case "wait":
        return true;
      case "create": {
        const namespace = workload.metadata.namespace ?? "";
        objects.writeBack(await client.create(resource, namespace, generation.body, { signal }));
        return false;
      }
      case "replace": {
        const body = { metadata: { uid }, spec: generation.spec };
        objects.writeBack(await client.patch(resource, refOf(key), { type: "merge", body }, { signal }));
        return false;
      }
      case "delete":
        try {
          await client.delete(resource, refOf(key), { uid, signal });
        } catch (error) {
          if (!isKubeError(error, "NotFound")) throw error;
        }
        return false;
    }
  }

  #asked(key: string, group: string): void {
    const groups = this.#asking.get(key);
    groups?.delete(group);
    if (groups?.size === 0) this.#asking.delete(key);
  }

  #onWorkload<T extends WorkloadObject>(group: string, change: Change<T>): void {
    const { metadata } = change.object;
    const key = `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
    const before = change.type === "changed" ? change.before.metadata : undefined;
    if (before === undefined || generationChanged(before.annotations, metadata.annotations)) {
      if (change.type === "changed" || (change.type === "added" && asksForState(metadata.annotations))) {
        this.#asking.set(key, (this.#asking.get(key) ?? new Set()).add(group));
        this.#deps.queue.add(key);
      }
    }
    const isSame =
      before?.generation === metadata.generation && before?.deletionTimestamp === metadata.deletionTimestamp;
    if (!isSame) this.#wakeTargeting(metadata.namespace ?? "", group, metadata.name ?? "");
  }

  #wakeTargeting(namespace: string, group: string, name: string): void {
    const { objects, queue, resource } = this.#deps;
    for (const object of objects.byIndex("target", targetValue(namespace, group, STATEFUL_SET, name))) {
      queue.add(resource.codec.identify(object).key);
    }
  }
}

/** Only what can change a record: a pod that becomes Ready, moves, is being deleted or is gone (rule 1). */
function matters(change: Change<Pod>): boolean {
  if (change.type !== "changed") return change.type === "removed" || isReady(change.object);
  const { before, object } = change;
  return (
    (isReady(object) && (!isReady(before) || before.nodeName !== object.nodeName)) ||
    isActive(before) !== isActive(object)
  );
}

function earliest(...times: (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
