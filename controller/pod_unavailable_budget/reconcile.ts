/**
 * The shell of PodUnavailableBudget: follows the pods of each budget and the workloads behind them, calls the plan,
 * writes the status and the links. No policy lives here.
 */
import {
  type CloneSet,
  oldRelatedBudgetAnnotation,
  type PodUnavailableBudget,
  relatedBudgetAnnotation,
  type StatefulSet,
} from "../../crds/index.ts";
import { createMergePatch, keyOf, type ObjectMeta, refOf } from "../../kube/core/index.ts";
import {
  type Cache,
  type Change,
  isKubeError,
  type Outcome,
  type Pod,
  podResource,
} from "../../kube/index.ts";
import { cloneSetResource } from "../clone_set/resource.ts";
import type { KindDeps, KindShell } from "../kind.ts";
import {
  type NativeStatefulSet,
  nativeStatefulSetResource,
} from "../persistent_pod_state/native_stateful_set.ts";
import { isActive } from "../rollout/pod_state.ts";
import type { HeldPods, PodNeeds } from "../selected_pods.ts";
import { statefulSetResource } from "../stateful_set/resource.ts";
import { deploymentResource, type NativeWorkload, replicaSetResource } from "./native_workload.ts";
import { type BudgetPlan, planBudget } from "./plan.ts";
import { isAvailableToBudget } from "./pod_facts.ts";
import { scaleOf } from "./scale_lookup.ts";
import {
  type FoundWorkload,
  type Protected,
  podsOfTarget,
  replicasOfControllers,
  type WorkloadSource,
} from "./workloads.ts";

/** How soon a lost race for the status is tried again, milliseconds; the watch usually wakes the key before. */
const CONFLICT_MS = 500;
/** Workloads that nobody watches are looked at again after so long. */
const POLL_MS = 10_000;

export function podUnavailableBudgetShell(deps: KindDeps<PodUnavailableBudget>): KindShell {
  return new BudgetShell(deps);
}

class BudgetShell implements KindShell {
  readonly #deps: KindDeps<PodUnavailableBudget>;
  readonly #pods: PodNeeds<Pod>;
  readonly #deployments: PodNeeds<NativeWorkload>;
  readonly #replicaSets: PodNeeds<NativeWorkload>;
  readonly #cloneSets: Cache<CloneSet>;
  readonly #statefulSets: Cache<StatefulSet>;
  readonly #nativeSets: Cache<NativeStatefulSet>;

  constructor(deps: KindDeps<PodUnavailableBudget>) {
    this.#deps = deps;
    const { informers, queue, selectPods, resource } = deps;
    informers.cacheOf(resource, { namespace: ({ metadata }) => [metadata.namespace ?? ""] });
    this.#pods = deps.selectedPods.needs((key, change) => {
      if (change === undefined || matters(change)) queue.add(key);
    });
    const wake = (key: string, change?: Change<NativeWorkload>): void => {
      if (change === undefined || isResized(change, ({ replicas, terminating }) => [replicas, terminating]))
        queue.add(key);
    };
    this.#deployments = selectPods(deploymentResource).needs(wake);
    this.#replicaSets = selectPods(replicaSetResource).needs(wake);
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

  coalescingMs(): number {
    return 0;
  }

  forget(key: string): void {
    this.#pods.release(key);
    this.#deployments.release(key);
    this.#replicaSets.release(key);
    // Pods that it protected may be another's from now on.
    this.#wakeNamespace(refOf(key).namespace ?? "");
  }

  async drained(): Promise<void> {
    // Every write is awaited by the reconcile that made it.
  }

  async reconcile(key: string): Promise<Outcome> {
    const object = this.#deps.objects.get(key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return {};
    const source = this.#sourceOf(key, object);
    const found = source && (await this.#protected(object, source));
    // Still being listed; the end of that wakes the key.
    if (found === undefined) return {};
    const { objects, clock } = this.#deps;
    const namespace = object.metadata.namespace ?? "";
    const plan = planBudget({
      object,
      pods: found.pods,
      totalReplicas: found.totalReplicas,
      isBudget: (name) => objects.get(`${namespace}/${name}`) !== undefined,
      now: clock.now(),
    });
    this.#tell(object, plan);
    const heldMs = await this.#writeStatus(key, object, plan);
    await this.#link(object, plan.link);
    return { wakeAfterMs: earliest(plan.wakeAfterMs, heldMs, source?.asked() ? POLL_MS : undefined) };
  }

  async #protected(
    object: PodUnavailableBudget,
    source: WorkloadSource & { pods: readonly Pod[] },
  ): Promise<Protected> {
    if (object.spec.targetRef) return podsOfTarget(object, source.pods, source);
    const totalReplicas = await replicasOfControllers(object.metadata.namespace ?? "", source.pods, source);
    return { pods: source.pods, totalReplicas };
  }

  /** Undefined while anything that the budget needs is still being listed. */
  #sourceOf(
    key: string,
    { metadata, spec }: PodUnavailableBudget,
  ): (WorkloadSource & { pods: readonly Pod[]; asked(): boolean }) | undefined {
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
    deployments: HeldPods<NativeWorkload>,
    replicaSets: HeldPods<NativeWorkload>,
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

  #tell({ metadata }: PodUnavailableBudget, plan: BudgetPlan): void {
    const { recorder, resource } = this.#deps;
    const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata;
    const apiVersion = `${resource.group}/${resource.version}`;
    const target = { apiVersion, kind: resource.kind, namespace, name, uid, resourceVersion };
    if (plan.isIdle) recorder.event(target, "Normal", "NoPods", "No matching pods found");
    if (plan.problem !== undefined) {
      const message = `Failed to calculate the number of expected pods: ${plan.problem}`;
      recorder.event(target, "Warning", "CalculateExpectedPodCountFailed", message);
    }
    for (const pod of plan.notDeleted) {
      const about = {
        apiVersion: "v1",
        kind: "Pod",
        namespace,
        name: pod.name,
        uid: pod.uid,
        resourceVersion: pod.resourceVersion,
      };
      const message = `Pod was expected by PUB ${namespace}/${name} to be deleted but it wasn't`;
      recorder.event(about, "Warning", "NotDeleted", message);
    }
  }

  /** With the version that the plan saw: admission writes it, too. Returns when to try again, in milliseconds. */
  async #writeStatus(
    key: string,
    object: PodUnavailableBudget,
    { status }: BudgetPlan,
  ): Promise<number | undefined> {
    const patch = createMergePatch(object.status ?? {}, status);
    if (JSON.stringify(patch) === "{}") return undefined;
    const { client, objects, resource, signal } = this.#deps;
    const { uid, resourceVersion } = object.metadata;
    const body = { metadata: { uid, resourceVersion }, status: patch };
    try {
      const options = { subresource: "status", flow: uid ?? "", signal } as const;
      objects.writeBack(await client.patch(resource, refOf(key), { type: "merge", body }, options));
      return undefined;
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      if (isKubeError(error, "Conflict")) return CONFLICT_MS;
      throw error;
    }
  }

  async #link({ metadata }: PodUnavailableBudget, pods: readonly Pod[]): Promise<void> {
    const { client, signal } = this.#deps;
    const { name = "", namespace = "", uid = "" } = metadata;
    const annotations = { [relatedBudgetAnnotation]: name, [oldRelatedBudgetAnnotation]: name };
    const link = async (pod: Pod): Promise<void> => {
      const body = { metadata: { uid: pod.uid, annotations } };
      try {
        const ref = { namespace, name: pod.name };
        await client.patch(podResource, ref, { type: "strategic", body }, { flow: uid, signal });
      } catch (error) {
        if (!isKubeError(error, "NotFound") && !isKubeError(error, "Conflict")) throw error;
      }
    };
    // The client's window bounds what is in flight.
    await Promise.all(pods.map(link));
  }

  #onWorkload<T extends { readonly metadata: ObjectMeta }>(
    change: Change<T>,
    sizeOf: (object: T) => readonly unknown[],
  ): void {
    if (isResized(change, sizeOf)) this.#wakeNamespace(change.object.metadata.namespace ?? "");
  }

  #wakeNamespace(namespace: string): void {
    for (const { metadata } of this.#deps.objects.byIndex("namespace", namespace)) {
      this.#deps.queue.add(keyOf({ namespace, name: metadata.name ?? "" }));
    }
  }
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

/** Only what can change the counts: a pod comes, goes, or turns available or unavailable (rule 26). */
function matters(change: Change<Pod>): boolean {
  if (change.type !== "changed") return true;
  const { before, object } = change;
  return (
    isActive(before) !== isActive(object) ||
    isAvailableToBudget(before) !== isAvailableToBudget(object) ||
    before.annotations[relatedBudgetAnnotation] !== object.annotations[relatedBudgetAnnotation]
  );
}

function earliest(...times: (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
