/** The loop that all built-in workloads share: which changes concern an object, and how its pods are taken and made. */
import {
  cloneJson,
  compileSelector,
  errorText,
  keyOf,
  type LabelSelector,
  refOf,
} from "../../kube/core/index.ts";
import type { Next } from "../agenda.ts";
import type { Cluster, StoredObject } from "../cluster.ts";
import { ClusterLoop, type LoopOptions } from "../cluster_loop.ts";
import type { EventWriter } from "../events.ts";
import { controllerOf, hasTemplate, type PodObject, type PodTemplate } from "../objects/index.ts";
import type { PodIndex } from "./pod_index.ts";
import type { RequestWriter } from "./writer.ts";

export interface WorkloadDeps extends LoopOptions {
  readonly pods: PodIndex;
  readonly writer: RequestWriter;
  readonly events: EventWriter;
}

export interface WorkloadKind {
  /** As in `Cluster`, for example `replicasets.apps`. */
  readonly resource: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Source of its events. */
  readonly component: string;
}

/** Runs `reconcile` for an object after each change of it or of its pods. */
export class WorkloadLoop extends ClusterLoop<WorkloadDeps> {
  readonly #kind: WorkloadKind;
  readonly #reconcile: (object: StoredObject, key: string) => Promise<Next>;
  /** UID of each object of the kind -> its key. */
  readonly #keys = new Map<string, string>();

  /** `also`: another resource whose changes concern objects of this kind, and the keys of those. */
  constructor(
    deps: WorkloadDeps,
    kind: WorkloadKind,
    reconcile: (object: StoredObject, key: string) => Promise<Next>,
    also?: {
      resource: string;
      keysOf: (object: StoredObject, keys: ReadonlyMap<string, string>) => Iterable<string>;
    },
  ) {
    super(deps, 32);
    this.#kind = kind;
    this.#reconcile = reconcile;
    this.follow(kind.resource, ({ type, object }) => {
      const key = keyOfObject(object);
      if (type === "DELETED") this.#keys.delete(object.metadata.uid ?? "");
      else {
        this.#keys.set(object.metadata.uid ?? "", key);
        this.agenda.add(key);
      }
    });
    if (also !== undefined) {
      this.watch(also.resource, ({ object }) => {
        for (const key of also.keysOf(object, this.#keys)) this.agenda.add(key);
      });
    }
    deps.pods.onChange((pod, owner) => {
      if (owner !== undefined) this.#wake(owner);
      else this.#wakeMatching(pod);
    });
  }

  protected override async work(key: string): Promise<Next> {
    const object = this.options.cluster.get(this.#kind.resource, refOf(key));
    return object && this.#reconcile(object, key);
  }

  #wake(uid: string): void {
    const key = this.#keys.get(uid);
    if (key !== undefined) this.agenda.add(key);
  }

  /** An orphan concerns those of its namespace whose selector it matches. */
  #wakeMatching(pod: PodObject): void {
    for (const key of this.#keys.values()) {
      if (refOf(key).namespace !== pod.metadata.namespace) continue;
      const object = this.options.cluster.get(this.#kind.resource, refOf(key));
      if (object && compileSelector(selectorOf(object)).matches(pod.metadata.labels)) this.agenda.add(key);
    }
  }
}

export function keyOfObject(object: StoredObject): string {
  const { namespace, name = "" } = object.metadata;
  return keyOf(namespace ? { namespace, name } : { name });
}

export function selectorOf(object: StoredObject): LabelSelector | undefined {
  return hasTemplate(object) ? object.spec.selector : undefined;
}

export function ownerReference(owner: StoredObject, kind: WorkloadKind) {
  const { name = "", uid = "" } = owner.metadata;
  const { apiVersion } = kind;
  return { apiVersion, kind: kind.kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Makes the owner that of an orphan; undefined when that is gone. */
export function adopt(
  { cluster }: WorkloadDeps,
  kind: WorkloadKind,
  owner: StoredObject,
  resource: string,
  orphan: StoredObject,
): StoredObject | undefined {
  return cluster.update(resource, refOf(keyOfObject(orphan)), (draft) => {
    draft.metadata.ownerReferences = [...(draft.metadata.ownerReferences ?? []), ownerReference(owner, kind)];
  });
}

/**
 * The pods of an owner: its own without those that no longer match (released), with orphans that match and that it
 * may adopt (unless the owner is being deleted).
 */
export function claimPods(
  deps: WorkloadDeps,
  kind: WorkloadKind,
  owner: StoredObject,
  mayAdopt: (pod: PodObject) => boolean = () => true,
): PodObject[] {
  const { cluster, pods } = deps;
  const selector = compileSelector(selectorOf(owner));
  const uid = owner.metadata.uid ?? "";
  const claimed: PodObject[] = [];
  for (const pod of pods.ownedBy(owner)) {
    if (selector.matches(pod.metadata.labels)) claimed.push(pod);
    else if (!owner.metadata.deletionTimestamp)
      setOwners(cluster, pod, (owners) => owners.filter((o) => o.uid !== uid));
  }
  if (owner.metadata.deletionTimestamp) return claimed;
  for (const pod of [...pods.orphansIn(owner.metadata.namespace ?? "")]) {
    if (pod.metadata.deletionTimestamp || !selector.matches(pod.metadata.labels) || !mayAdopt(pod)) continue;
    setOwners(cluster, pod, (owners) => [...owners, ownerReference(owner, kind)]);
    claimed.push(pod);
  }
  return claimed;
}

type Owners = NonNullable<StoredObject["metadata"]["ownerReferences"]>;

function setOwners(cluster: Cluster, pod: PodObject, change: (owners: Owners) => Owners): void {
  cluster.update("pods", refOf(keyOfObject(pod)), (draft) => {
    if (draft.metadata.uid !== pod.metadata.uid) return;
    const owners = change(draft.metadata.ownerReferences ?? []);
    if (controllerOf(draft) && owners.length > (draft.metadata.ownerReferences ?? []).length) return;
    draft.metadata.ownerReferences = owners;
  });
}

/** A pod of a template. `labels` are added to the template's. */
export function podFromTemplate(
  owner: StoredObject,
  kind: WorkloadKind,
  template: PodTemplate,
  labels: Readonly<Record<string, string>> = {},
): PodObject {
  const metadata: PodObject["metadata"] = {
    generateName: `${owner.metadata.name}-`,
    namespace: owner.metadata.namespace ?? "default",
    labels: { ...template.metadata?.labels, ...labels },
    ownerReferences: [ownerReference(owner, kind)],
  };
  if (template.metadata?.annotations) metadata.annotations = { ...template.metadata.annotations };
  if (template.metadata?.finalizers) metadata.finalizers = [...template.metadata.finalizers];
  return { apiVersion: "v1", kind: "Pod", metadata, spec: cloneJson(template.spec) };
}

/** Creates a pod and writes an event; false when it was refused, with a warning. */
export async function createPod(
  deps: WorkloadDeps,
  kind: WorkloadKind,
  owner: StoredObject,
  pod: PodObject,
): Promise<boolean> {
  try {
    const { metadata } = await deps.writer.create("pods", pod);
    const message = `Created pod: ${metadata.name}`;
    deps.events.write(owner, "Normal", "SuccessfulCreate", message, kind.component);
    return true;
  } catch (error) {
    const message = `Error creating: ${errorText(error)}`;
    deps.events.write(owner, "Warning", "FailedCreate", message, kind.component);
    return false;
  }
}

export async function deletePod(
  deps: WorkloadDeps,
  kind: WorkloadKind,
  owner: StoredObject,
  pod: PodObject,
): Promise<void> {
  const { name, uid } = pod.metadata;
  try {
    await deps.writer.remove("pods", refOf(keyOfObject(pod)), uid ? { uid } : {});
    deps.events.write(owner, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`, kind.component);
  } catch (error) {
    const message = `Error deleting: ${errorText(error)}`;
    deps.events.write(owner, "Warning", "FailedDelete", message, kind.component);
    throw error;
  }
}

/** How long a workload waits after a refused creation. */
export const refusedRetryMs = 500;
