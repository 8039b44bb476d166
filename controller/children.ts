/** Objects that the objects of one kind control: found by their owner, which every change of them enqueues. */
import { keyOf, type OwnerReference, refOf } from "../kube/core/index.ts";
import { type Cache, isKubeError, type Resource, type WriteOptions } from "../kube/index.ts";
import type { Indexes, WatchScope } from "./informers.ts";
import type { SharedDeps } from "./kind.ts";
import { controllerOfKind, type Owners } from "./owners.ts";
import { deleteQuietly } from "./rollout/writes/pod_writer.ts";

interface Owner {
  readonly namespace: string;
  readonly uid: string;
}

export class Children<C> {
  readonly #deps: Pick<SharedDeps, "client" | "informers" | "queue">;
  readonly #resource: Resource<C>;
  readonly #cache: Cache<C>;
  readonly #index: string;
  readonly #ownerOf: (child: C) => OwnerReference | undefined;

  constructor(
    deps: Pick<SharedDeps, "client" | "informers" | "queue">,
    /** Of the owners. */
    kind: string,
    resource: Resource<C>,
    owners: (child: C) => Owners,
    /** For resources of which most objects are somebody else's: what all children are labelled with. */
    scope?: WatchScope,
  ) {
    this.#deps = deps;
    this.#resource = resource;
    this.#index = `of ${kind}`;
    this.#ownerOf = (child) => controllerOfKind(owners(child), kind);
    const indexes: Indexes<C> = { [this.#index]: (child) => [this.#ownerOf(child)?.uid ?? []].flat() };
    this.#cache = deps.informers.cacheOf(resource, indexes, scope);
    this.#cache.subscribe(({ object }) => {
      const owner = this.#ownerOf(object);
      if (owner === undefined) return;
      const { namespace } = refOf(resource.codec.identify(object).key);
      deps.queue.add(keyOf({ ...(namespace ? { namespace } : {}), name: owner.name }));
    });
  }

  of(uid: string): Iterable<C> {
    return this.#cache.byIndex(this.#index, uid);
  }

  /** One that exists already and is the owner's own is taken for created: an answer may have been lost. */
  async create({ namespace, uid }: Owner, name: string, body: object, options: WriteOptions): Promise<void> {
    const { client } = this.#deps;
    try {
      this.#cache.writeBack(await client.create(this.#resource, namespace, body, options));
    } catch (error) {
      if (!isKubeError(error, "AlreadyExists") && !(isKubeError(error) && error.ambiguous)) throw error;
      const found = await client.get(this.#resource, { namespace, name }, options);
      if (this.#ownerOf(found)?.uid !== uid) throw error;
      this.#cache.writeBack(found);
    }
  }

  async patch({ namespace }: Owner, name: string, body: object, options: WriteOptions): Promise<void> {
    const patch = { type: "merge", body } as const;
    this.#cache.writeBack(await this.#deps.client.patch(this.#resource, { namespace, name }, patch, options));
  }

  /** With what it owns. */
  async delete({ namespace }: Owner, name: string, uid: string, options: WriteOptions): Promise<void> {
    const { client } = this.#deps;
    const ref = { namespace, name };
    const background = { ...options, uid, propagationPolicy: "Background" } as const;
    const left = await deleteQuietly(() => client.delete(this.#resource, ref, background));
    if (left === undefined || left === "absent") this.#cache.remove(keyOf(ref), uid);
    else this.#cache.writeBack(left);
  }
}
