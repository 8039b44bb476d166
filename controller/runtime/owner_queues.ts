/** Which change enqueues which object: the object itself, its owner, or what waits for it. */
import type { ImagePullJob } from "../../crds/index.ts";
import { type KubeObject, refOf } from "../../kube/core/index.ts";
import type { Change, ControllerRevision, PersistentVolumeClaim, Pod, WorkQueue } from "../../kube/index.ts";
import { OWNED_BY_ANNOTATION } from "../kinds/stateful_set/index.ts";
import { GROUP } from "../plan/resources.ts";
import { claimantKeys, orphanKeys } from "./caches.ts";
import type { AnyKind, Kind, SharedCaches } from "./kind.ts";
import type { KindShell } from "./shell.ts";

const STATEFUL_SET = "StatefulSet";

export class OwnerQueues {
  /** By kind of the owner: puts `namespace/name` into the queue of that kind. */
  readonly #byKind = new Map<string, (key: string) => void>();
  readonly #withRevisions: string[] = [];
  readonly #systemNamespace: string;

  /** `systemNamespace`: of this program, where owners without a namespace have what is theirs. */
  constructor(systemNamespace: string) {
    this.#systemNamespace = systemNamespace;
  }

  /** From now on changes of dependants reach the owners of this kind in `apps.kruise.io`. */
  add(
    { resource: { kind, namespaced }, revisions }: Pick<AnyKind, "resource" | "revisions">,
    enqueue: (key: string) => void,
  ): void {
    // What names one without a namespace elsewhere may be anybody's.
    const enqueueNamed = (key: string): void => {
      const { namespace, name } = refOf(key);
      if (namespace === this.#systemNamespace) enqueue(name);
    };
    this.#byKind.set(kind, namespaced ? enqueue : enqueueNamed);
    if (revisions) this.#withRevisions.push(kind);
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
      const set = change.object.annotations[OWNED_BY_ANNOTATION];
      if (set !== undefined) this.#enqueueOwner(STATEFUL_SET, change.object.namespace, set);
      if (change.type === "removed") this.#claimantsOf(change.object);
    });
    revisions.subscribe((change) => {
      this.#controllersOf(change.object);
      if (change.type === "removed") this.#namesakesOf(change.object);
    });
  }

  /** Pods may wait for an image of which a job has news. */
  pullJobChanged(change: Change<ImagePullJob>): void {
    const { metadata, status } = change.object;
    const before = change.type === "changed" ? change.before.status : undefined;
    const isNews =
      change.type !== "changed" ||
      before?.succeeded !== status?.succeeded ||
      before?.failed !== status?.failed ||
      before?.completionTime !== status?.completionTime;
    for (const { controller, kind, name } of isNews ? (metadata.ownerReferences ?? []) : []) {
      if (controller) this.#enqueueOwner(kind, metadata.namespace, name);
    }
  }

  #enqueueOwner(kind: string, namespace: string | undefined, name: string): void {
    this.#byKind.get(kind)?.(`${namespace}/${name}`);
  }

  #ownerOf(pod: Pod): void {
    const owner = pod.controller;
    if (owner === undefined) {
      // Whoever has this name among its pods' may adopt it, or wait for it to go.
      for (const key of orphanKeys(pod)) this.#byKind.get(STATEFUL_SET)?.(key);
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

  /** A pod may wait for a claim that somebody deleted, or for the end of one that was going. */
  #claimantsOf(claim: PersistentVolumeClaim): void {
    for (const key of claimantKeys(claim)) this.#byKind.get(STATEFUL_SET)?.(key);
  }

  /** A workload of another kind and the same name may have used the revision, too; it needs one of its own now. */
  #namesakesOf({ namespace, owners }: ControllerRevision): void {
    for (const { name } of owners)
      for (const kind of this.#withRevisions) this.#enqueueOwner(kind, namespace, name);
  }
}

/** A change of the object itself. */
export function enqueueItself<T extends KubeObject>(
  kind: Pick<Kind<T>, "resource" | "changeMatters">,
  queue: Pick<WorkQueue, "add">,
  shell: Pick<KindShell, "forget">,
  change: Change<T>,
): void {
  const { key, uid } = kind.resource.codec.identify(change.object);
  if (change.type === "removed") {
    shell.forget(key, uid);
    return;
  }
  if (change.type === "added" || isWanted(kind, change.before, change.object)) queue.add(key, "high");
}

/** Our own status writes come back as changes: only what a plan reads is worth a new one. */
function isWanted<T extends KubeObject>(kind: Pick<Kind<T>, "changeMatters">, before: T, after: T): boolean {
  const a = before.metadata;
  const b = after.metadata;
  return (
    a.generation !== b.generation ||
    a.deletionTimestamp !== b.deletionTimestamp ||
    JSON.stringify([a.labels, a.annotations]) !== JSON.stringify([b.labels, b.annotations]) ||
    kind.changeMatters(before, after)
  );
}
