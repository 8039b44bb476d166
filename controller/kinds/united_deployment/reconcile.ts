/** UnitedDeployments: reads the caches, plans, and carries out what the plan says. No policy lives here. */
import type { SubsetTemplateName, UnitedDeployment } from "../../../crds/index.ts";
import {
  compileSelector,
  createMergePatch,
  type JsonObject,
  keyOf,
  type Labels,
  objectRef,
} from "../../../kube/core/index.ts";
import {
  type Change,
  isKubeError,
  messageOf,
  type Pod,
  podResource,
  sidesOf,
  type WriteOptions,
} from "../../../kube/index.ts";
import { ownerKeyOf } from "../../plan/owners.ts";
import { groupVersionOf } from "../../plan/resources.ts";
import { longestGatheringMs } from "../../rollout/delays.ts";
import { ownerReference, randomId } from "../../rollout/pods/pod_manifest.ts";
import { revisionsOf } from "../../rollout/revisions/revisions.ts";
import type { RevisionAction } from "../../rollout/writes/actions.ts";
import { eventTarget } from "../../runtime/executor/event_target.ts";
import { deleteQuietly } from "../../runtime/executor/pod_writer.ts";
import { writeRevision } from "../../runtime/executor/revision_writer.ts";
import { slowStart } from "../../runtime/executor/slow_start.ts";
import { namespaceIndex } from "../../runtime/informers.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler, Result } from "../../runtime/reconciler.ts";
import type { HeldPods, PodNeeds } from "../../runtime/selected_pods.ts";
import { type ChildManifest, childManifest, namePrefix, type SubsetTarget } from "./child_manifest.ts";
import { UnitedIndex } from "./classify.ts";
import { RESERVED_LABEL, SUBSET_LABEL } from "./names.ts";
import { planUnitedDeployment, type UnitedPlan } from "./plan.ts";
import { createUnitedRevision } from "./revision.ts";
import { type SubsetWorkloads, subsetWorkloads } from "./subset_workloads.ts";
import type { SubsetWorkload, WorkloadKind } from "./workload.ts";

type Deps = KindDeps<UnitedDeployment>;

/** The pods that an object selects, and what they count as. */
interface Followed {
  readonly held: HeldPods<Pod>;
  readonly index: UnitedIndex;
}

export class UnitedDeploymentReconciler implements Reconciler<UnitedDeployment> {
  readonly #deps: Deps;
  readonly #workloads: Readonly<Record<SubsetTemplateName, SubsetWorkloads>>;
  readonly #pods: PodNeeds<Pod>;
  /** By key. */
  readonly #followed = new Map<string, Followed>();
  /** By UID: what went wrong with the writes of the last pass. */
  readonly #failures = new Map<string, string>();

  constructor(deps: Deps) {
    this.#deps = deps;
    deps.informers.cacheOf(deps.resource, namespaceIndex);
    this.#workloads = subsetWorkloads(deps, deps.resource.kind, (workload) => this.#onOrphan(workload));
    this.#pods = deps.selectedPods.needs((key, change) => this.#onPod(key, change));
  }

  coalescingMs(key: string): number {
    return longestGatheringMs(this.#deps.objects.get(key)?.spec.replicas ?? 0);
  }

  forget(key: string, uid: string): void {
    this.#pods.release(key);
    this.#followed.delete(key);
    this.#failures.delete(uid);
  }

  reconcile(object: UnitedDeployment, key: string): Result | undefined {
    const { spec, metadata } = object;
    const { namespace } = objectRef(object);
    const { uid = "" } = metadata;
    const followed = this.#follow(object, key);
    if (followed === undefined) return undefined;
    const { caches, clock } = this.#deps;
    const plan = planUnitedDeployment({
      object,
      children: Object.values(this.#workloads).flatMap((workloads) => workloads.of(ownerKeyOf(metadata))),
      pods: followed.index,
      revisions: revisionsOf(metadata, compileSelector(spec.selector), caches),
      taken: (name) => caches.revisions.get(`${namespace}/${name}`)?.data,
      failure: this.#failures.get(uid) ?? "",
      now: clock.now(),
    });
    const { status, requeueAfterMs } = plan;
    if (status === undefined) return { requeueAfterMs };
    // What is made, changed or deleted counts in the next pass, which its write enqueues.
    const carryOut = () => this.#carryOut(object, plan, followed.held);
    if (!plan.isRemembered) return { status, size: spec.replicas ?? 0, effects: [carryOut], requeueAfterMs };
    const patch = createMergePatch(object.status ?? {}, status);
    return { effects: [{ type: "patch status", status: patch, exact: true }, carryOut], requeueAfterMs };
  }

  /** Undefined while the pods are still being listed. */
  #follow({ metadata, spec }: UnitedDeployment, key: string): Followed | undefined {
    const { namespace = "" } = metadata;
    const isSubset = { key: SUBSET_LABEL, operator: "Exists" as const };
    const matchExpressions = [...(spec.selector.matchExpressions ?? []), isSubset];
    const [held] =
      this.#pods.need(key, [{ namespace, labels: { ...spec.selector, matchExpressions } }]) ?? [];
    if (held === undefined) return undefined;
    const known = this.#followed.get(key);
    // Another selector has other pods.
    if (known?.held === held) return known;
    const index = new UnitedIndex({
      pods: () => held.values(),
      pod: (name) => held.get(keyOf({ namespace, name })),
    });
    const followed = { held, index };
    this.#followed.set(key, followed);
    return followed;
  }

  #onPod(key: string, change: Change<Pod> | undefined): void {
    if (change !== undefined) {
      const { before, after } = sidesOf(change);
      this.#followed.get(key)?.index.podChanged(before, after);
    }
    this.#deps.queue.addAfter(key, this.coalescingMs(key));
  }

  async #carryOut(object: UnitedDeployment, plan: UnitedPlan, pods: HeldPods<Pod>): Promise<void> {
    const { uid = "" } = object.metadata;
    try {
      // The plan knows nothing of them yet, and would make their subsets once more.
      if (await this.#adopt(object)) return;
      await this.#writeRevisions(object, plan);
      await this.#writeWorkloads(object, plan);
      await this.#writePods(object, plan, pods);
      if (this.#failures.delete(uid)) this.#deps.queue.add(this.#deps.resource.codec.identify(object).key);
    } catch (error) {
      if (!isKubeError(error, "Aborted", "Conflict")) this.#failures.set(uid, messageOf(error));
      throw error;
    }
  }

  /** Somebody else's workload may become the object's by its labels; it is enqueued for each that could be its owner. */
  #onOrphan({ namespace, labels }: SubsetWorkload): void {
    const { objects, queue, resource } = this.#deps;
    for (const object of objects.byIndex("namespace", namespace))
      if (selects(object, labels)) queue.add(resource.codec.identify(object).key);
  }

  /** Rule 11. Whether there were any: the next pass plans with them. */
  async #adopt(object: UnitedDeployment): Promise<boolean> {
    const { namespace, name } = objectRef(object);
    const { uid = "" } = object.metadata;
    const orphans = Object.values(this.#workloads).flatMap((workloads) =>
      workloads
        .orphans(namespace)
        .filter(({ labels, isDeleting }) => !isDeleting && selects(object, labels))
        .map((orphan) => ({ workloads, orphan })),
    );
    if (orphans.length === 0 || !(await this.#exists(object))) return false;
    const reference = ownerReference(this.#deps.resource.kind, name, uid);
    for (const { workloads, orphan } of orphans) {
      const ownerReferences = [...orphan.owners, reference];
      const metadata = { uid: orphan.uid, resourceVersion: orphan.resourceVersion, ownerReferences };
      await workloads.patch({ namespace, uid }, orphan.name, { metadata }, this.#options(uid));
    }
    return true;
  }

  /** Asks the server itself: the cache may not know yet that the object is gone. */
  async #exists(object: UnitedDeployment): Promise<boolean> {
    const { client, resource } = this.#deps;
    const { metadata } = await client.get(
      resource,
      objectRef(object),
      this.#options(object.metadata.uid ?? ""),
    );
    return metadata.uid === object.metadata.uid && metadata.deletionTimestamp === undefined;
  }

  async #writeRevisions(object: UnitedDeployment, { revision, surplus }: UnitedPlan): Promise<void> {
    if (revision === undefined) return;
    const { update, write } = revision;
    const effects: RevisionAction[] = surplus.map((each) => ({ type: "delete revision", revision: each }));
    if (write === "create") {
      effects.push(createUnitedRevision(object, revision));
    } else if (write === "renumber" && update.stored !== undefined) {
      const { uid, resourceVersion } = update.stored;
      const body = { metadata: { uid, resourceVersion }, revision: update.number };
      effects.push({ type: "patch revision", revision: update.stored, body });
    }
    const { client, caches, writesFor } = this.#deps;
    const { namespace } = objectRef(object);
    const writer = writesFor({ namespace });
    const options = this.#options(object.metadata.uid ?? "");
    try {
      for (const action of effects)
        await writeRevision({ client, writer, revisions: caches.revisions }, namespace, action, options);
    } catch (error) {
      this.#report(object, "FailedRevisionProvision", messageOf(error));
      throw error;
    }
  }

  async #writeWorkloads(object: UnitedDeployment, plan: UnitedPlan): Promise<void> {
    const { kind, problem } = plan;
    if (kind === undefined) return;
    if (problem !== undefined) this.#reportProblem(object, problem);
    await this.#delete(object, kind, plan.deletions);
    await this.#create(object, kind, plan.creations);
    const { failure } = await slowStart(plan.updates, ({ child, target }) =>
      this.#reported(object, kind, child.name, () => this.#update(object, kind, child, target)),
    );
    if (failure !== undefined) throw failure.error;
  }

  /** Once for each cause: passes are many while numbers stay as they are. */
  #reportProblem({ metadata, status }: UnitedDeployment, problem: string): void {
    const reported = status?.conditions?.find(({ type }) => type === "SubsetProvisioned");
    if (reported?.status === "False" && reported.message === problem) return;
    const message = `Specified subset replicas is ineffective: ${problem}`;
    this.#report({ metadata }, "Failed SpecifySubsetReplicas", message);
  }

  async #delete(
    object: UnitedDeployment,
    { type }: WorkloadKind,
    deletions: readonly SubsetWorkload[],
  ): Promise<void> {
    const { namespace } = objectRef(object);
    const { uid = "" } = object.metadata;
    for (const { template, name, uid: childUid } of deletions)
      await this.#workloads[template].delete({ namespace, uid }, name, childUid, this.#options(uid));
    this.#reportDone(object, "Delete", deletions.length, type);
  }

  /** Rule 28. */
  async #create(
    object: UnitedDeployment,
    kind: WorkloadKind,
    targets: readonly SubsetTarget[],
  ): Promise<void> {
    const { succeeded, failure } = await slowStart(targets, (target) =>
      this.#reported(object, kind, target.subset.name, () => this.#createOne(object, kind, target)),
    );
    this.#reportDone(object, "Create", succeeded, kind.type);
    if (failure !== undefined) throw failure.error;
  }

  #createOne(object: UnitedDeployment, kind: WorkloadKind, target: SubsetTarget): Promise<void> {
    const { random, resource } = this.#deps;
    const { namespace, name } = objectRef(object);
    const { uid = "" } = object.metadata;
    const { labels, annotations, spec } = childManifest(object, kind, target);
    const generateName = namePrefix(name, target.subset.name);
    const child = generateName + randomId(random);
    const ownerReferences = [ownerReference(resource.kind, name, uid)];
    const body = {
      apiVersion: groupVersionOf(kind.resource),
      kind: kind.resource.kind,
      metadata: { name: child, generateName, namespace, labels, annotations, ownerReferences },
      spec,
    };
    return this.#workloads[kind.template].create({ namespace, uid }, child, body, this.#options(uid));
  }

  /** Of the very version that is in the cache: what others changed since then shows there first. */
  async #update(
    object: UnitedDeployment,
    kind: WorkloadKind,
    child: SubsetWorkload,
    target: SubsetTarget,
  ): Promise<void> {
    const { namespace } = objectRef(object);
    const { uid = "" } = object.metadata;
    const { metadata, spec } = changes(child, childManifest(object, kind, target), kind);
    const { resourceVersion } = child;
    const body = { metadata: { uid: child.uid, resourceVersion, ...metadata }, spec };
    await this.#workloads[kind.template].patch({ namespace, uid }, child.name, body, this.#options(uid));
  }

  async #writePods(
    object: UnitedDeployment,
    { brokenPods, labels }: UnitedPlan,
    pods: HeldPods<Pod>,
  ): Promise<void> {
    const { namespace } = objectRef(object);
    const writer = this.#deps.writesFor({ namespace });
    const options = this.#options(object.metadata.uid ?? "");
    await Promise.all(
      brokenPods.map((pod) =>
        deleteQuietly(() => writer.delete(podResource, pod, { ...options, uid: pod.uid })),
      ),
    );
    await Promise.all(
      labels.map(async ({ pod, reserved }) => {
        const metadata = { uid: pod.uid, labels: { [RESERVED_LABEL]: String(reserved) } };
        const patch = { type: "strategic", body: { metadata } } as const;
        pods.writeBack(await writer.patch(podResource, pod, patch, options));
      }),
    );
  }

  async #reported(
    object: UnitedDeployment,
    { type }: WorkloadKind,
    name: string,
    write: () => Promise<void>,
  ): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!isKubeError(error, "Aborted", "Conflict")) {
        const message = `Error updating PodSet (${type}) ${name} when updating: ${messageOf(error)}`;
        this.#report(object, "FailedUpdateSubset", message);
      }
      throw error;
    }
  }

  #report({ metadata }: Pick<UnitedDeployment, "metadata">, reason: string, message: string): void {
    const { recorder, resource } = this.#deps;
    recorder.event(eventTarget(resource, metadata), "Warning", reason, message);
  }

  #reportDone({ metadata }: UnitedDeployment, what: "Create" | "Delete", count: number, type: string): void {
    if (count === 0) return;
    const { recorder, resource } = this.#deps;
    const message = `${what} ${count} Subset (${type})`;
    recorder.event(eventTarget(resource, metadata), "Normal", "SuccessfulUpdateSubset", message);
  }

  #options(flow: string): WriteOptions {
    return { priority: "high", flow, signal: this.#deps.signal };
  }
}

function selects({ spec }: UnitedDeployment, labels: Readonly<Record<string, string>>): boolean {
  return compileSelector(spec.selector).matches(labels);
}

/** A merge patch; labels and annotations are added, never removed (rule 22). */
function changes(
  child: SubsetWorkload,
  { labels, annotations, spec }: ChildManifest,
  { immutable }: WorkloadKind,
): { metadata: JsonObject; spec: object } {
  const added = (key: "labels" | "annotations", texts: Labels) => {
    const patch = createMergePatch(child[key], { ...child[key], ...texts });
    return Object.keys(patch).length === 0 ? {} : { [key]: patch };
  };
  const mutable = (whole: JsonObject) =>
    Object.fromEntries(Object.entries(whole).filter(([name]) => !immutable.includes(name)));
  return {
    metadata: { ...added("labels", labels), ...added("annotations", annotations) },
    spec: createMergePatch(mutable(child.spec), mutable(spec)),
  };
}
