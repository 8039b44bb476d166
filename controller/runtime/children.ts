/** Objects that the objects of one kind control: found by their owner, which every change of them enqueues. */
import { keyOf, type OwnerReference, refOf } from "../../kube/core/index.ts";
import { type Cache, isKubeError, type Resource, type WriteOptions } from "../../kube/index.ts";
import {
  controllerOfKind,
  type Dependants,
  dependantsIn,
  type OwnerKey,
  type Owners,
} from "../plan/owners.ts";
import { deleteQuietly } from "./executor/pod_writer.ts";
import { type Writable, writable } from "./executor/writable.ts";
import type { WatchScope } from "./informers.ts";
import type { SharedDeps } from "./kind.ts";

interface Owner {
  readonly namespace: string;
  readonly uid: string;
}

export type ChildrenDeps = Pick<SharedDeps, "client" | "writesFor" | "informers" | "queue">;

export class Children<C> {
  readonly #deps: ChildrenDeps;
  readonly #resource: Resource<C>;
  readonly #cache: Cache<C>;
  readonly #owned: Dependants<C>;
  readonly #ownerOf: (child: C) => OwnerReference | undefined;

  constructor(
    deps: ChildrenDeps,
    /** Of the owners. */
    kind: string,
    resource: Resource<C>,
    owners: (child: C) => Owners,
    /** For resources of which most objects are somebody else's: what all children are labelled with. */
    scope?: WatchScope,
  ) {
    this.#deps = deps;
    this.#resource = resource;
    this.#ownerOf = (child) => controllerOfKind(owners(child), kind);
    this.#cache = deps.informers.cacheOf(resource, {}, scope);
    this.#owned = dependantsIn(this.#cache, `of ${kind}`, (child) => ({
      namespace: this.#namespaceOf(child),
      owners: [this.#ownerOf(child)?.uid ?? []].flat(),
    }));
    this.#cache.subscribe(({ object }) => {
      const owner = this.#ownerOf(object);
      if (owner === undefined) return;
      deps.queue.add(keyOf({ namespace: this.#namespaceOf(object), name: owner.name }));
    });
  }

  /** For effects that write children. */
  writable(): Writable {
    return writable(this.#resource, {
      writeBack: (child) => this.#cache.writeBack(child),
      removed: (key, uid) => this.#cache.remove(key, uid),
      controllerOf: (child) => this.#ownerOf(child)?.uid,
    });
  }

  of(owner: OwnerKey): Iterable<C> {
    return this.#owned.of(owner);
  }

  #namespaceOf(child: C): string {
    return refOf(this.#resource.codec.identify(child).key).namespace ?? "";
  }

  /** One that exists already and is the owner's own is taken for created: an answer may have been lost. */
  async create({ namespace, uid }: Owner, name: string, body: object, options: WriteOptions): Promise<void> {
    const { client, writesFor } = this.#deps;
    try {
      this.#cache.writeBack(await writesFor({ namespace }).create(this.#resource, namespace, body, options));
    } catch (error) {
      if (!isKubeError(error, "AlreadyExists") && !(isKubeError(error) && error.ambiguous)) throw error;
      const found = await client.get(this.#resource, { namespace, name }, options);
      if (this.#ownerOf(found)?.uid !== uid) throw error;
      this.#cache.writeBack(found);
    }
  }

  async patch({ namespace }: Owner, name: string, body: object, options: WriteOptions): Promise<void> {
    const patch = { type: "merge", body } as const;
    const writer = this.#deps.writesFor({ namespace });
    this.#cache.writeBack(await writer.patch(this.#resource, { namespace, name }, patch, options));
  }

  /** With what it owns. */
  async delete({ namespace }: Owner, name: string, uid: string, options: WriteOptions): Promise<void> {
    const writer = this.#deps.writesFor({ namespace });
    const ref = { namespace, name };
    const background = { ...options, uid, propagationPolicy: "Background" } as const;
    const left = await deleteQuietly(() => writer.delete(this.#resource, ref, background));
    if (left === undefined || left === "absent") this.#cache.remove(keyOf(ref), uid);
    else this.#cache.writeBack(left);
  }
}
