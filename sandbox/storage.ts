/**
 * Versions, history and watches of every resource: what etcd and the watch cache are to a real API server.
 * One counter numbers all writes. Objects in here are frozen by convention: a write hands over a fresh object.
 */
import type { StoredObject } from "./cluster.ts";
import { Revision } from "./revision.ts";

/** One stored write. For DELETED, `current` holds the last state under the version of the deletion. */
export interface StoredChange {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly table: Table;
  readonly version: number;
  readonly current: Revision;
  readonly previous: Revision | undefined;
  /** Milliseconds on the sandbox's clock; lagging reads are cut by it. */
  readonly at: number;
  /** What watches send for it, made once for all of them and forgotten afterwards. */
  readonly frames: Map<string, Buffer>;
}

interface Subscription {
  /** Called in order of version, for each change when `index` is absent, else for those that touch the value. */
  readonly onChange: (change: StoredChange) => void;
  /** The table is no longer served. */
  readonly onClose?: () => void;
  readonly index?: { readonly name: string; readonly value: string };
}

export interface TableOptions {
  readonly name: string;
  readonly namespaced: boolean;
  /** Index name (a field selector such as `spec.nodeName`) -> its value in an object. */
  readonly indexes: Readonly<Record<string, (object: StoredObject) => string>>;
}

interface StorageOptions {
  readonly now: () => number;
  /** How many changes of each resource a watch can go back. */
  readonly historyLimit: number;
}

export class Storage {
  readonly options: StorageOptions;
  readonly #tables = new Map<string, Table>();
  readonly #undelivered: StoredChange[] = [];
  readonly #observers: ((change: StoredChange) => void)[] = [];
  #version = 1;
  #delivering = false;

  constructor(options: StorageOptions) {
    this.options = options;
  }

  /** The version of the newest write. */
  get version(): number {
    return this.#version;
  }

  nextVersion(): number {
    return ++this.#version;
  }

  table(options: TableOptions): Table {
    const known = this.#tables.get(options.name);
    if (known !== undefined) return known;
    const table = new Table(this, options);
    this.#tables.set(options.name, table);
    return table;
  }

  /** Forgets a table; its watches end. */
  dropTable(name: string): void {
    this.#tables.get(name)?.close();
    this.#tables.delete(name);
  }

  tables(): Iterable<Table> {
    return this.#tables.values();
  }

  /** Sees the changes of all tables, before their own listeners do. */
  observe(observer: (change: StoredChange) => void): void {
    this.#observers.push(observer);
  }

  /** Listeners may write: their changes wait until everybody has seen the one before. */
  deliver(change: StoredChange): void {
    this.#undelivered.push(change);
    if (this.#delivering) return;
    this.#delivering = true;
    try {
      for (let at = 0; at < this.#undelivered.length; at++) {
        const next = this.#undelivered[at];
        if (next === undefined) continue;
        for (const observer of this.#observers) observer(next);
        next.table.notify(next);
        next.frames.clear();
        next.previous?.release();
      }
    } finally {
      this.#undelivered.length = 0;
      this.#delivering = false;
    }
  }
}

const snapshotLimit = 4;

export class Table {
  readonly options: TableOptions;
  readonly #storage: Storage;
  readonly #byNamespace = new Map<string, Map<string, Revision>>();
  readonly #sorted = new Map<string, readonly Revision[]>();
  readonly #indexed = new Map<string, Map<string, Set<Revision>>>();
  readonly #watchers = new Map<string, Set<Subscription>>();
  /** Past states that lists read page by page. */
  readonly #snapshots = new Map<string, readonly Revision[]>();
  #history: StoredChange[] = [];
  /** Changes up to this version are forgotten. */
  #forgotten = 0;
  #size = 0;

  constructor(storage: Storage, options: TableOptions) {
    this.#storage = storage;
    this.options = options;
    for (const name of Object.keys(options.indexes)) this.#indexed.set(name, new Map());
  }

  get size(): number {
    return this.#size;
  }

  get forgottenVersion(): number {
    return this.#forgotten;
  }

  get(namespace: string, name: string): Revision | undefined {
    return this.#byNamespace.get(namespace)?.get(name);
  }

  /** Stores a new or changed object and numbers it; the caller has checked what it replaces. */
  put(object: StoredObject): Revision {
    const namespace = object.metadata.namespace ?? "";
    const name = object.metadata.name ?? "";
    const previous = this.get(namespace, name);
    const version = this.#storage.nextVersion();
    object.metadata.resourceVersion = String(version);
    const current = new Revision(object, version);
    const names = this.#byNamespace.get(namespace) ?? new Map<string, Revision>();
    this.#byNamespace.set(namespace, names.set(name, current));
    if (previous === undefined) this.#size += 1;
    this.#sorted.delete(namespace);
    this.#sorted.delete("*");
    this.#reindex(previous, current);
    this.#record(previous === undefined ? "ADDED" : "MODIFIED", current, previous);
    return current;
  }

  /** Removes an object; what watches see is its last state under the version of the removal. */
  remove(namespace: string, name: string, last?: StoredObject): Revision | undefined {
    const previous = this.get(namespace, name);
    if (previous === undefined) return undefined;
    const version = this.#storage.nextVersion();
    const names = this.#byNamespace.get(namespace);
    names?.delete(name);
    if (names?.size === 0) this.#byNamespace.delete(namespace);
    this.#size -= 1;
    this.#sorted.delete(namespace);
    this.#sorted.delete("*");
    this.#reindex(previous, undefined);
    const final = last ?? previous.object;
    const current = new Revision(
      { ...final, metadata: { ...final.metadata, resourceVersion: String(version) } },
      version,
    );
    this.#record("DELETED", current, previous);
    return current;
  }

  /** In the order of keys (namespace, name), as the API server lists. */
  list(namespace?: string): readonly Revision[] {
    const key = this.options.namespaced ? namespace || "*" : "";
    const known = this.#sorted.get(key);
    if (known !== undefined) return known;
    const sorted =
      key === "*"
        ? [...this.#byNamespace.keys()].sort(byText).flatMap((one) => this.list(one))
        : [...(this.#byNamespace.get(key)?.values() ?? [])].sort(byKey);
    this.#sorted.set(key, sorted);
    return sorted;
  }

  /** Only the objects whose index has this value, sorted; undefined when the table has no such index. */
  listIndexed(index: string, value: string): readonly Revision[] | undefined {
    const values = this.#indexed.get(index);
    if (values === undefined) return undefined;
    return [...(values.get(value) ?? [])].sort(byKey);
  }

  /** The state when `version` was the newest; undefined when that is out of the history. */
  listAt(version: number, namespace?: string): readonly Revision[] | undefined {
    const newest = this.#history.at(-1);
    if (newest === undefined || newest.version <= version) return this.list(namespace);
    if (version < this.#forgotten) return undefined;
    const key = `${version} ${namespace ?? ""}`;
    const known = this.#snapshots.get(key) ?? this.#rewound(version, namespace);
    this.#snapshots.delete(key);
    this.#snapshots.set(key, known);
    const [oldest] = this.#snapshots.keys();
    if (this.#snapshots.size > snapshotLimit && oldest !== undefined) this.#snapshots.delete(oldest);
    return known;
  }

  #rewound(version: number, namespace: string | undefined): readonly Revision[] {
    const state = new Map<string, Revision>();
    for (const revision of this.list(namespace)) state.set(revision.key, revision);
    for (let at = this.#history.length - 1; at >= 0; at--) {
      const change = this.#history[at];
      if (change === undefined || change.version <= version) break;
      if (namespace && change.current.namespace !== namespace) continue;
      if (change.previous === undefined) state.delete(change.current.key);
      else state.set(change.current.key, change.previous);
    }
    return [...state.values()].sort(byKey);
  }

  /** Changes after `version`, oldest first; undefined when some of them are forgotten. */
  changesAfter(version: number): readonly StoredChange[] | undefined {
    if (version < this.#forgotten) return undefined;
    let low = 0;
    let high = this.#history.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#history[middle]?.version ?? 0) <= version) low = middle + 1;
      else high = middle;
    }
    return this.#history.slice(low);
  }

  subscribe(subscription: Subscription): () => void {
    const index = subscription.index;
    const slot = index === undefined ? "" : `${index.name}=${index.value}`;
    const slotted = this.#watchers.get(slot) ?? new Set();
    this.#watchers.set(slot, slotted.add(subscription));
    return () => {
      const left = this.#watchers.get(slot);
      left?.delete(subscription);
      if (left?.size === 0) this.#watchers.delete(slot);
    };
  }

  close(): void {
    for (const slot of this.#watchers.values())
      for (const subscription of [...slot]) subscription.onClose?.();
  }

  notify(change: StoredChange): void {
    const slots = new Set([""]);
    for (const [name, read] of Object.entries(this.options.indexes)) {
      slots.add(`${name}=${read(change.current.object)}`);
      if (change.previous !== undefined) slots.add(`${name}=${read(change.previous.object)}`);
    }
    for (const slot of slots) {
      for (const subscription of [...(this.#watchers.get(slot) ?? [])]) subscription.onChange(change);
    }
  }

  #reindex(previous: Revision | undefined, current: Revision | undefined): void {
    for (const [name, read] of Object.entries(this.options.indexes)) {
      const values = this.#indexed.get(name);
      if (values === undefined) continue;
      if (previous !== undefined) {
        const value = read(previous.object);
        const members = values.get(value);
        members?.delete(previous);
        if (members?.size === 0) values.delete(value);
      }
      if (current === undefined) continue;
      const value = read(current.object);
      const members = values.get(value);
      if (members === undefined) values.set(value, new Set([current]));
      else members.add(current);
    }
  }

  #record(type: StoredChange["type"], current: Revision, previous: Revision | undefined): void {
    const change: StoredChange = {
      type,
      table: this,
      version: current.version,
      current,
      previous,
      at: this.#storage.options.now(),
      frames: new Map(),
    };
    this.#history.push(change);
    if (this.#history.length >= this.#storage.options.historyLimit * 2) {
      const cut = this.#history.length - this.#storage.options.historyLimit;
      this.#forgotten = this.#history[cut - 1]?.version ?? this.#forgotten;
      this.#history = this.#history.slice(cut);
    }
    this.#storage.deliver(change);
  }
}

function byText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function byKey(left: Revision, right: Revision): number {
  return byText(left.namespace, right.namespace) || byText(left.name, right.name);
}
