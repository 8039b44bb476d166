/** Objects that the objects of one kind control: found by their owner, which every change of them enqueues. */
import { keyOf, type OwnerReference, refOf } from "../../kube/core/index.ts";
import type { Cache, ControllerOf, Resource } from "../../kube/index.ts";
import {
  controllerOfKind,
  type Dependants,
  dependantsIn,
  type OwnerKey,
  type Owners,
} from "../plan/owners.ts";
import { type Writable, writable } from "./executor/writable.ts";
import type { WatchScope } from "./informers.ts";
import type { SharedDeps } from "./kind.ts";

export interface ChildrenDeps extends Pick<SharedDeps, "informers"> {
  readonly queue: Pick<SharedDeps["queue"], "add">;
}

export class Children<C> {
  readonly #resource: Resource<C>;
  readonly #cache: Cache<C>;
  readonly #owned: Dependants<C>;
  readonly #ownerOf: (child: C) => OwnerReference | ControllerOf | undefined;

  constructor(
    deps: ChildrenDeps,
    /** Of the owners. */
    kind: string,
    resource: Resource<C>,
    /** Of pods, `({ controller }) => controller`. */
    owners: (child: C) => Owners | ControllerOf,
    /** For resources of which most objects are somebody else's: what all children are labelled with. */
    scope?: WatchScope,
  ) {
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
}
