/** One watch and one cache a resource, whoever asks for it. */
import type { ObjectMeta } from "../../kube/core/index.ts";
import {
  Cache,
  type Client,
  type Clock,
  type Informer,
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

export class SharedInformers implements Informers {
  readonly #deps: InformersDeps;
  readonly #caches = new Map<string, { resource: unknown; cache: unknown }>();
  readonly #informers: Informer[] = [];
  /** Begins the watch of each cache; undefined once they have begun. */
  #waiting: (() => Promise<void>)[] | undefined = [];
  readonly #filled = Promise.withResolvers<void>();
  /** Plural names by group and version: asked once each. */
  readonly #served = new Map<string, Promise<ReadonlySet<string>>>();
  #stopped = false;

  constructor(deps: InformersDeps) {
    this.#deps = deps;
    // Reported to whoever waits in synced(); a failure or a stop before anybody does must not end the process.
    this.#filled.promise.catch(() => undefined);
  }

  cacheOf<T>(resource: Resource<T>, indexes: Indexes<T> = {}, scope: WatchScope = {}): Cache<T> {
    const cache = this.#known(resource, scope) ?? this.watch(resource, new Cache<T>(resource.codec), scope);
    for (const [name, valuesOf] of Object.entries(indexes)) cache.addIndex(name, valuesOf);
    return cache;
  }

  /** Fills a cache that was made by the caller, who thereby decides what is kept of the resource. */
  watch<T>(resource: Resource<T>, cache: Cache<T>, scope: WatchScope = {}): Cache<T> {
    const name = nameOf(resource, scope);
    if (this.#waiting === undefined) throw new Error(`${name} is asked for after the watches began`);
    this.#caches.set(name, { resource, cache });
    this.#waiting.push(() => this.#start(resource, cache, scope));
    return cache;
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

  #known<T>(resource: Resource<T>, scope: WatchScope): Cache<T> | undefined {
    const name = nameOf(resource, scope);
    const held = this.#caches.get(name);
    if (held === undefined) return undefined;
    if (held.resource !== resource) {
      throw new Error(`${name} is described twice: a shared cache needs one resource object`);
    }
    // The resource object is the same, hence the type of what it decodes.
    return held.cache as Cache<T>;
  }

  async #start<T>(resource: Resource<T>, cache: Cache<T>, scope: WatchScope): Promise<void> {
    const { client, clock, random, metrics } = this.#deps;
    const log = this.#deps.log.with({ resource: resource.plural });
    if (!(await this.serves(resource))) {
      log.warn("the resource is not served and therefore not watched until the next start");
      return;
    }
    // Stopped while the server was still being asked: a watch from now on would never be ended.
    if (this.#stopped) return;
    const everywhere = resource.namespaced ? this.#deps.namespace : "";
    const { namespace = everywhere, labelSelector } = scope;
    const informer = startInformer({
      client,
      resource,
      cache,
      clock,
      random,
      log,
      metrics,
      ...(namespace === "" ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
    });
    this.#informers.push(informer);
    await informer.synced;
  }
}

function nameOf(
  { group, version, plural }: { group: string; version: string; plural: string },
  { namespace = "", labelSelector = "" }: WatchScope,
): string {
  return `${group}/${version}/${plural} ${namespace} ${labelSelector}`.trimEnd();
}
