/**
 * One watch a resource and process, whoever asks for it: admission, which asks as long as the process lives, and the
 * controllers of each shard, which come and go with its Lease. Each of them has informers, hence caches, of its own, which hold
 * the same objects.
 */
import type { ObjectMeta } from "../../kube/core/index.ts";
import {
  Cache,
  type Client,
  type Clock,
  type Informer,
  KubeError,
  type Log,
  type Metrics,
  type Random,
  type Resource,
  servedResources,
  startInformer,
} from "../../kube/index.ts";

/** Index name -> the values under which an object is found. Pure functions of the object. */
export type Indexes<T> = Readonly<Record<string, (object: T) => readonly string[]>>;

/** Index `namespace`: the objects of a namespace. */
export const namespaceIndex: Indexes<{ readonly metadata: ObjectMeta }> = {
  namespace: ({ metadata }) => [metadata.namespace ?? ""],
};

/** Which objects of a resource are watched; default: all. */
export interface WatchScope {
  readonly namespace?: string;
  readonly labelSelector?: string;
}

/** What a kind may ask for while its shell is made. */
export interface Informers {
  /**
   * The cache of all objects of the resource, empty until the watches begin, filled before any work starts and followed
   * from then on; the indexes are added to it. Stays empty where the API server does not have the resource. Subscribe to
   * it at once to be called for every object, those included that are there already. Of resources of which most
   * objects are somebody else's, `scope` says which are to be held.
   */
  cacheOf<T>(resource: Resource<T>, indexes?: Indexes<T>, scope?: WatchScope): Cache<T>;
}

interface InformersDeps {
  client: Client;
  clock: Clock;
  random: Random;
  log: Log;
  metrics: Metrics;
  /** The only namespace that is watched; empty for all. */
  namespace: string;
}

/** Caches by what fills them. */
export class CachesByScope {
  readonly #held = new Map<string, { resource: unknown; cache: unknown }>();

  get<T>(resource: Resource<T>, scope: WatchScope): Cache<T> | undefined {
    const name = nameOf(resource, scope);
    const held = this.#held.get(name);
    if (held === undefined) return undefined;
    if (held.resource !== resource) {
      throw new Error(`${name} is described twice: a shared cache needs one resource object`);
    }
    // The resource object is the same, hence the type of what it decodes.
    return held.cache as Cache<T>;
  }

  set<T>(resource: Resource<T>, scope: WatchScope, cache: Cache<T>): void {
    this.#held.set(nameOf(resource, scope), { resource, cache });
  }

  delete(resource: Resource<unknown>, scope: WatchScope): void {
    this.#held.delete(nameOf(resource, scope));
  }
}

/** The watches of a process: each begins with the first of its users, through whose client it runs, and ends with the last. */
export class SharedWatches {
  readonly #metrics: Metrics;
  readonly #caches = new CachesByScope();
  /** By cache. */
  readonly #running = new Map<unknown, { readonly informer: Informer; readonly users: Set<unknown> }>();

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  /** Fills an empty cache and keeps it up to date; to stop the informer ends the watch only where nobody else needs it. */
  join<T>(deps: InformersDeps, resource: Resource<T>, cache: Cache<T>, scope: WatchScope): Informer {
    const all = this.#caches.get(resource, scope) ?? new Cache<T>(resource.codec);
    const { informer, users } = this.#running.get(all) ?? {
      informer: startWatch({ ...deps, metrics: this.#metrics }, resource, all, scope),
      users: new Set(),
    };
    this.#caches.set(resource, scope, all);
    this.#running.set(all, { informer, users });
    users.add(cache);
    cache.join(all);
    return {
      synced: informer.synced,
      get lastEventAt() {
        return informer.lastEventAt;
      },
      get caughtUp() {
        return informer.caughtUp;
      },
      stop: async () => {
        if (!users.delete(cache)) return;
        cache.leave();
        if (users.size > 0) return;
        this.#caches.delete(resource, scope);
        this.#running.delete(all);
        await informer.stop();
      },
    };
  }
}

/** What one user follows: from its start to its stop, all of it together. */
export class SharedInformers implements Informers {
  readonly #deps: InformersDeps;
  readonly #watches: SharedWatches;
  readonly #caches = new CachesByScope();
  readonly #informers: Informer[] = [];
  /** Begins the watch of each cache; undefined once they have begun. */
  #waiting: (() => Promise<void>)[] | undefined = [];
  readonly #filled = Promise.withResolvers<void>();
  /** Plural names by group and version: asked once each. */
  readonly #served = new Map<string, Promise<ReadonlySet<string>>>();
  #stopped = false;

  constructor(deps: InformersDeps, watches = new SharedWatches(deps.metrics)) {
    this.#deps = deps;
    this.#watches = watches;
    // Reported to whoever waits in synced(); a failure or a stop before anybody does must not end the process.
    this.#filled.promise.catch(() => undefined);
  }

  cacheOf<T>(resource: Resource<T>, indexes: Indexes<T> = {}, scope: WatchScope = {}): Cache<T> {
    const held = this.#caches.get(resource, scope);
    const cache = held ?? new Cache<T>(resource.codec);
    if (held === undefined)
      this.#add(resource, cache, scope, () => this.#watches.join(this.#deps, resource, cache, scope));
    for (const [name, valuesOf] of Object.entries(indexes)) cache.addIndex(name, valuesOf);
    return cache;
  }

  /**
   * Fills a cache that was made by the caller, who thereby decides what is kept of the resource: by a watch that nobody else
   * can use.
   */
  watch<T>(resource: Resource<T>, cache: Cache<T>): void {
    this.#add(resource, cache, {}, () => startWatch(this.#deps, resource, cache, {}));
  }

  /**
   * Begins the watches: once, and only when everybody has subscribed. What a cache reported before, nobody would report
   * again, and an object that does not change would never be looked at.
   */
  start(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    const { resolve, reject } = this.#filled;
    Promise.all(waiting.map((begin) => begin())).then(() => resolve(), reject);
  }

  /** Resolves when every cache holds a complete list, some time after the start. */
  synced(): Promise<void> {
    return this.#filled.promise;
  }

  /**
   * Resolves when every cache holds a complete list and no watch is interrupted: what was written before is known then. Waits
   * for some seconds at most for a watch. Admission decides once, controllers look again.
   */
  async caughtUp(): Promise<void> {
    await this.#filled.promise;
    const interrupted = this.#informers.flatMap(({ caughtUp }) => caughtUp ?? []);
    if (interrupted.length > 0) await Promise.all(interrupted);
  }

  stop(): void {
    this.#stopped = true;
    this.#filled.reject(new KubeError("Aborted", "the informers were stopped before they were in sync"));
    for (const informer of this.#informers) void informer.stop();
  }

  /** Whether the API server has the resource. */
  async serves(resource: Pick<Resource<unknown>, "group" | "version" | "plural">): Promise<boolean> {
    const { group, version, plural } = resource;
    const key = `${group}/${version}`;
    const known = this.#served.get(key) ?? servedResources(this.#deps.client, group, version);
    this.#served.set(key, known);
    return (await known).has(plural);
  }

  #add<T>(resource: Resource<T>, cache: Cache<T>, scope: WatchScope, begin: () => Informer): void {
    const waiting = this.#waiting;
    if (waiting === undefined)
      throw new Error(`${nameOf(resource, scope)} is asked for after the watches began`);
    this.#caches.set(resource, scope, cache);
    waiting.push(() => this.#start(resource, begin));
  }

  async #start(resource: Resource<unknown>, begin: () => Informer): Promise<void> {
    if (!(await this.serves(resource))) {
      const log = this.#deps.log.with({ resource: resource.plural });
      log.warn("the resource is not served and therefore not watched until the next start");
      return;
    }
    // Stopped while the server was still being asked: a watch from now on would never be ended.
    if (this.#stopped) return;
    const informer = begin();
    this.#informers.push(informer);
    await informer.synced;
  }
}

function startWatch<T>(
  deps: InformersDeps,
  resource: Resource<T>,
  cache: Cache<T>,
  scope: WatchScope,
): Informer {
  const { client, clock, random, metrics } = deps;
  const everywhere = resource.namespaced ? deps.namespace : "";
  const { namespace = everywhere, labelSelector } = scope;
  return startInformer({
    client,
    resource,
    cache,
    clock,
    random,
    log: deps.log.with({ resource: resource.plural }),
    metrics,
    ...(namespace === "" ? {} : { namespace }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
  });
}

function nameOf(
  { group, version, plural }: { group: string; version: string; plural: string },
  { namespace = "", labelSelector = "" }: WatchScope,
): string {
  return `${group}/${version}/${plural} ${namespace} ${labelSelector}`.trimEnd();
}
