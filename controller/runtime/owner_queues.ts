/** Which change enqueues which object: the object itself, its owner, or what waits for it. */
import { type KubeObject, refOf } from "../../kube/core/index.ts";
import type { Change, ControllerRevision, PersistentVolumeClaim, Pod, WorkQueue } from "../../kube/index.ts";
import { GROUP } from "../plan/resources.ts";
import type { AnyKind, Claimants, Kind, SharedCaches } from "./kind.ts";
import type { StatusObject } from "./reconciler.ts";
import type { Shell } from "./shell.ts";

export class OwnerQueues {
  /** By kind of the owner: puts `namespace/name` into the queue of that kind. */
  readonly #byKind = new Map<string, (key: string) => void>();
  readonly #withRevisions: string[] = [];
  readonly #claimants: { kind: string; claimants: Claimants }[] = [];
  readonly #systemNamespace: string;

  /** `systemNamespace`: of this program, where owners without a namespace have what is theirs. */
  constructor(systemNamespace: string) {
    this.#systemNamespace = systemNamespace;
  }

  /** From now on changes of dependants reach the owners of this kind in `apps.kruise.io`. */
  add(
    { resource, revisions, claimants }: Pick<AnyKind, "resource" | "revisions" | "claimants">,
    enqueue: (key: string) => void,
  ): void {
    const { kind, namespaced } = resource;
    // What names one without a namespace elsewhere may be anybody's.
    const enqueueNamed = (key: string): void => {
      const { namespace, name } = refOf(key);
      if (namespace === this.#systemNamespace) enqueue(name);
    };
    this.#byKind.set(kind, namespaced ? enqueue : enqueueNamed);
    if (revisions) this.#withRevisions.push(kind);
    if (claimants) this.#claimants.push({ kind, claimants });
  }

  /** A change of a dependant enqueues its owner, and the owner that it had before. */
  follow({ pods, claims, revisions }: Pick<SharedCaches, "pods" | "claims" | "revisions">): void {
    pods.subscribe((change) => {
      this.#ownerOf(change.object);
      if (change.type === "changed" && change.before.controller?.uid !== change.object.controller?.uid) {
        this.#ownerOf(change.before);
      }
    });
    claims.subscribe((change) => {
      this.#controllersOf(change.object);
      this.#claimantsOf(change);
    });
    revisions.subscribe((change) => {
      this.#controllersOf(change.object);
      if (change.type === "removed") this.#namesakesOf(change.object);
    });
  }

  /** There is news of an object of any kind: whoever controls it may wait for that. */
  dependantChanged({ metadata }: KubeObject): void {
    for (const { controller, kind, name } of metadata.ownerReferences ?? []) {
      if (controller) this.#enqueueOwner(kind, metadata.namespace, name);
    }
  }

  #enqueueOwner(kind: string, namespace: string | undefined, name: string): void {
    this.#enqueue(kind, `${namespace}/${name}`);
  }

  #enqueue(kind: string, key: string): void {
    this.#byKind.get(kind)?.(key);
  }

  #ownerOf(pod: Pod): void {
    const owner = pod.controller;
    if (owner === undefined) {
      for (const { kind, claimants } of this.#claimants)
        for (const key of claimants.ofPod(pod)) this.#enqueue(kind, key);
    } else if (owner.group === GROUP) {
      this.#enqueueOwner(owner.kind, pod.namespace, owner.name);
    }
  }

  #controllersOf({ owners, namespace }: PersistentVolumeClaim | ControllerRevision): void {
    for (const owner of owners) {
      if (!owner.controller || owner.apiVersion.split("/")[0] !== GROUP) continue;
      this.#enqueueOwner(owner.kind, namespace, owner.name);
    }
  }

  #claimantsOf({ type, object }: Change<PersistentVolumeClaim>): void {
    for (const { kind, claimants } of this.#claimants) {
      for (const key of claimants.ofClaim(object)) this.#enqueue(kind, key);
      if (type !== "removed") continue;
      for (const key of claimants.ofRemovedClaim(object)) this.#enqueue(kind, key);
    }
  }

  /** A workload of another kind and the same name may have used the revision, too; it needs one of its own now. */
  #namesakesOf({ namespace, owners }: ControllerRevision): void {
    for (const { name } of owners)
      for (const kind of this.#withRevisions) this.#enqueueOwner(kind, namespace, name);
  }
}

/** A change of the object itself. */
export function enqueueItself<T extends StatusObject>(
  kind: Pick<Kind<T>, "resource" | "changeMatters">,
  queue: Pick<WorkQueue, "add">,
  shell: Pick<Shell<T>, "forget" | "isStatusByOthers">,
  change: Change<T>,
): void {
  const { key, uid } = kind.resource.codec.identify(change.object);
  if (change.type === "removed") {
    shell.forget(key, uid);
    return;
  }
  if (
    change.type === "added" ||
    isWanted(kind, change.before, change.object) ||
    shell.isStatusByOthers(change.before, change.object)
  )
    queue.add(key, "high");
}

/** Our own status writes come back as changes: only what a plan reads is worth a new one. */
function isWanted<T extends StatusObject>(
  kind: Pick<Kind<T>, "changeMatters">,
  before: T,
  after: T,
): boolean {
  const a = before.metadata;
  const b = after.metadata;
  return (
    a.generation !== b.generation ||
    a.deletionTimestamp !== b.deletionTimestamp ||
    JSON.stringify([a.labels, a.annotations]) !== JSON.stringify([b.labels, b.annotations]) ||
    kind.changeMatters(before, after)
  );
}
