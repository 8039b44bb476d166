/**
 * What a kind is given where nobody follows the cluster: its caches are filled from lists that are read once, and nothing can be
 * written. Its own reconciler then says what a controller would do that has just started.
 */
import type { KubeObject } from "../../kube/core/index.ts";
import {
  Cache,
  type Clock,
  isKubeError,
  type ListScope,
  listAll,
  nodeResource,
  nullLog,
  podResource,
  type Random,
  type ReadingClient,
  type Resource,
  WorkQueue,
  type Writer,
} from "../../kube/index.ts";
import { CachesByScope, type Indexes, type Informers, type WatchScope } from "./informers.ts";
import type { KindDeps } from "./kind.ts";
import { listedCluster } from "./listed_cluster.ts";
import type { ControllerOptions } from "./options.ts";
import {
  type ObjectSelection,
  type SelectableObject,
  type SelectionNeeds,
  type SelectionReader,
  type Selections,
  selectionsByResource,
  selectionText,
} from "./selected_objects.ts";

/** Reads what was asked for and is not there yet. */
class Lists {
  readonly #client: ReadingClient;
  #waiting: (() => Promise<void>)[] = [];

  constructor(client: ReadingClient) {
    this.#client = client;
  }

  /** Each object is listed once. A kind that the server does not have has no objects. */
  ask<T>(resource: Resource<T>, scope: ListScope, found: (objects: readonly T[]) => void): void {
    this.#waiting.push(async () => {
      try {
        found(await listAll(this.#client, resource, scope));
      } catch (error) {
        if (!isKubeError(error, "NotFound")) throw error;
        found([]);
      }
    });
  }

  /** Whether anything was asked for. Throws KubeError. */
  async read(): Promise<boolean> {
    const waiting = this.#waiting;
    this.#waiting = [];
    await Promise.all(waiting.map((read) => read()));
    return waiting.length > 0;
  }
}

class ListedInformers implements Informers {
  readonly #lists: Lists;
  readonly #namespace: string;
  readonly #caches = new CachesByScope();

  constructor(lists: Lists, namespace: string) {
    this.#lists = lists;
    this.#namespace = namespace;
  }

  cacheOf<T>(resource: Resource<T>, indexes: Indexes<T> = {}, scope: WatchScope = {}): Cache<T> {
    const cache = this.#caches.get(resource, scope) ?? this.#listed(resource, scope);
    for (const [name, valuesOf] of Object.entries(indexes)) cache.addIndex(name, valuesOf);
    return cache;
  }

  #listed<T>(resource: Resource<T>, scope: WatchScope): Cache<T> {
    const cache = new Cache<T>(resource.codec);
    this.#caches.set(resource, scope, cache);
    const within = resource.namespaced ? scopeIn(this.#namespace) : {};
    this.#lists.ask(resource, { ...within, ...scope }, (objects) => {
      for (const object of objects) cache.upsert(object);
    });
    return cache;
  }
}

class ListedSelections<T extends SelectableObject> implements Selections<T> {
  readonly #lists: Lists;
  readonly #resource: Resource<T>;
  /** By the text of the selection; undefined while it is still to be read. */
  readonly #listed = new Map<string, Cache<T> | undefined>();

  constructor(lists: Lists, resource: Resource<T>) {
    this.#lists = lists;
    this.#resource = resource;
  }

  needs(): SelectionNeeds<T> {
    const needed = new Map<string, readonly ObjectSelection[]>();
    const held = (key: string) => {
      const selections = needed.get(key)?.map((selection) => this.listed(selection));
      return selections?.every((each) => each !== undefined) ? selections : undefined;
    };
    return {
      need(key, selections) {
        needed.set(key, selections);
        return held(key);
      },
      held,
      refusal: () => undefined,
      has: (key) => needed.has(key),
      release: (key) => void needed.delete(key),
    };
  }

  /** Undefined until it is read. */
  listed({ namespace, labels, fields }: ObjectSelection): Cache<T> | undefined {
    const labelSelector = selectionText(labels);
    const id = [namespace, labelSelector, fields].join("\n");
    if (this.#listed.has(id)) return this.#listed.get(id);
    this.#listed.set(id, undefined);
    const scope = { ...scopeIn(namespace), labelSelector, ...(fields ? { fieldSelector: fields } : {}) };
    this.#lists.ask(this.#resource, scope, (objects) => {
      const cache = new Cache<T>(this.#resource.codec);
      for (const object of objects) cache.upsert(object);
      this.#listed.set(id, cache);
    });
    return undefined;
  }
}

function scopeIn(namespace: string): ListScope {
  return namespace === "" ? {} : { namespace };
}

/** What controllers follow, as lists. */
export interface ListedReads {
  readonly informers: Informers;
  /** Takes the keys of what has changed: nobody comes for them. */
  readonly queue: Pick<WorkQueue, "add">;
  selectObjects<T extends SelectableObject>(resource: Resource<T>): Selections<T>;
  /** Reads what has been asked for since; false: there was nothing. Throws KubeError. */
  read(): Promise<boolean>;
  /** Reads one selection, and what has been asked for since. Throws KubeError. */
  select<T extends SelectableObject>(
    resource: Resource<T>,
    selection: ObjectSelection,
  ): Promise<SelectionReader<T>>;
}

/** `namespace`: of the object; empty for one of the cluster, which may have to do with any namespace. */
export function listedReads(client: ReadingClient, namespace: string): ListedReads {
  const lists = new Lists(client);
  const selectionsOf = <T extends SelectableObject>(of: Resource<T>) => new ListedSelections(lists, of);
  return {
    informers: new ListedInformers(lists, namespace),
    queue: { add: () => undefined },
    selectObjects: selectionsByResource(selectionsOf),
    read: () => lists.read(),
    async select(resource, selection) {
      const selections = selectionsOf(resource);
      selections.listed(selection);
      await lists.read();
      const found = selections.listed(selection);
      if (found === undefined) throw new Error(`${resource.plural} were asked for and not listed`);
      return found;
    },
  };
}

export interface ListingDeps {
  readonly client: ReadingClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly options: ControllerOptions;
}

/** What the reconciler of a kind is made with, and how its caches are filled. */
export interface ListedDeps<T> extends Pick<ListedReads, "read"> {
  readonly deps: KindDeps<T>;
  stop(): void;
}

/** Of the shared caches only nodes are there. */
export async function listedDeps<T extends KubeObject>(
  resource: Resource<T>,
  namespace: string,
  { client, clock, random, options }: ListingDeps,
): Promise<ListedDeps<T>> {
  const { informers, selectObjects, read } = listedReads(client, namespace);
  const nodes = await listAll(client, nodeResource);
  const ending = new AbortController();
  const queue = new WorkQueue({ clock });
  return {
    deps: {
      client,
      writesFor: () => refusing,
      clock,
      random,
      log: nullLog,
      recorder: { event: () => undefined },
      options,
      server: { resizeSubresource: true, imagePullJobs: true },
      caches: { ...listedCluster({ nodes }), pullJobWritten: () => undefined },
      informers,
      selectObjects,
      selectedPods: selectObjects(podResource),
      queue,
      signal: ending.signal,
      resource,
      objects: informers.cacheOf(resource),
    },
    read,
    stop() {
      ending.abort();
      queue.stop();
    },
  };
}

const refusing: Writer = { create: refuse, patch: refuse, delete: refuse };

function refuse(): Promise<never> {
  return Promise.reject(new Error("nothing is written where plans are only looked at"));
}
