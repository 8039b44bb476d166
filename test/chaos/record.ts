/** A real cluster as its watches tell of it, played to the observer in the order in which the changes were stored. */
import type { ClusterChange, StoredObject, StoredWrite } from "../../sandbox/index.ts";
import type { ObservedCluster } from "../../simulation/index.ts";

/** One stored change, as a watch told of it. */
export interface Heard {
  /** Of the store, one for all resources: it tells the order. */
  readonly revision: number;
  /** As the observer calls it: `pods`, `clonesets.apps.kruise.io`. */
  readonly resource: string;
  readonly type: ClusterChange["type"];
  readonly object: StoredObject;
  /** When it was heard of; milliseconds since the epoch. */
  readonly atMs: number;
  /** A list told of it, and changes before it may be missing: nobody is made answerable for it. */
  readonly isListed: boolean;
}

/** What is to be made of it. */
export interface Reading {
  /** Whose request it was; undefined for what the observer does not ask about. */
  readonly write: StoredWrite | undefined;
  /** As the observer is to see it. */
  readonly object: StoredObject;
}

export class RecordedCluster implements ObservedCluster {
  /** They are asked for their clocks by what is about `minReadySeconds` and AdvancedCronJobs, which are no part of the workload. */
  readonly replicas = [];
  readonly diedWrongAt = Number.NEGATIVE_INFINITY;
  readonly #beginMs: number;
  readonly #read: (heard: Heard) => Reading;
  readonly #objects = new Map<string, Map<string, StoredObject>>();
  readonly #subscribers = new Map<string, ((change: ClusterChange) => void)[]>();
  readonly #writeListeners = new Set<(write: StoredWrite) => void>();
  #heard: Heard[] = [];
  #nowMs: number;

  constructor(beginMs: number, read: (heard: Heard) => Reading) {
    this.#beginMs = beginMs;
    this.#nowMs = beginMs;
    this.#read = read;
  }

  readonly clock = { now: () => this.#nowMs, monotonic: () => this.#nowMs - this.#beginMs };

  readonly server: ObservedCluster["server"] = {
    cluster: {
      get: (resource, { namespace = "", name }) => this.#objects.get(resource)?.get(`${namespace}/${name}`),
      subscribe: (resource, listener) => {
        const listeners = this.#subscribers.get(resource) ?? [];
        this.#subscribers.set(resource, [...listeners, listener]);
        return () => this.#subscribers.set(resource, listeners);
      },
    },
    faults: {
      onWrite: (listener) => {
        this.#writeListeners.add(listener);
        return () => this.#writeListeners.delete(listener);
      },
    },
  };

  objects(resource: string, namespace?: string): StoredObject[] {
    const all = [...(this.#objects.get(resource)?.values() ?? [])];
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  hear(heard: Heard): void {
    this.#heard.push(heard);
  }

  /** Plays what was heard of by then; what was stored before something that is not due waits for that no longer than it. */
  play(untilMs: number): void {
    const first = Math.min(
      ...this.#heard.filter(({ atMs }) => atMs > untilMs).map(({ revision }) => revision),
    );
    const [due, left] = [[], []] as [Heard[], Heard[]];
    for (const each of this.#heard) (each.revision < first && each.atMs <= untilMs ? due : left).push(each);
    this.#heard = left;
    for (const each of due.toSorted((a, b) => a.revision - b.revision)) this.#apply(each);
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  #apply(heard: Heard): void {
    this.#nowMs = Math.max(this.#nowMs, heard.atMs);
    const { resource, type } = heard;
    const { write, object } = this.#read(heard);
    const change = this.#store(resource, type, object);
    for (const listener of this.#subscribers.get(resource) ?? []) listener(change);
    if (write !== undefined) for (const listener of this.#writeListeners) listener(write);
  }

  #store(resource: string, type: Heard["type"], object: StoredObject): ClusterChange {
    const objects = this.#objects.get(resource) ?? new Map<string, StoredObject>();
    this.#objects.set(resource, objects);
    const key = `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
    const before = objects.get(key);
    if (type === "DELETED") {
      objects.delete(key);
      return { type, object };
    }
    objects.set(key, object);
    return before === undefined ? { type: "ADDED", object } : { type: "MODIFIED", object, before };
  }
}
