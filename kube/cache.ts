/**
 * The cache: one writer (the watch and write-backs), many readers.
 * Versions decide, not arrival: whatever is older than what is held is ignored, so that an answer to a write
 * can go in at once and the watch may repeat it later (docs/architecture.md, "How a change flows").
 * Users that come and go while the watch stays have a cache each, with indexes and listeners of their own: `join`.
 */

/** What reconcilers see of a cache. */
export interface Reader<T> {
  get(key: string): T | undefined;
  /**
   * Objects whose index function returned `value`; iteration order is unspecified. Cost is that of the answer.
   * The iterator is live: read it to its end before awaiting anything.
   */
  byIndex(index: string, value: string): Iterable<T>;
  values(): Iterable<T>;
  readonly size: number;
}

export type Change<T> =
  | { readonly type: "added"; readonly object: T }
  | { readonly type: "changed"; readonly object: T; readonly before: T }
  | { readonly type: "removed"; readonly object: T };

/** The object before the change and after it; undefined where there was or is none. */
export function sidesOf<T>(change: Change<T>): { before: T | undefined; after: T | undefined } {
  const { type, object } = change;
  if (type === "added") return { before: undefined, after: object };
  return type === "removed" ? { before: object, after: undefined } : { before: change.before, after: object };
}

export interface Identity {
  key: string;
  uid: string;
  /** metadata.resourceVersion */
  version: string;
}

export interface CacheOptions<T> {
  identify(object: T): Identity;
  /** Index name -> the values under which an object is found. Pure functions of the object. */
  indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  /** Objects for which it is false are not held: one that turns false is reported as removed. Default: all are held. */
  keep?(object: T): boolean;
  /** How many UIDs of removed objects are remembered. Default 16 384. */
  tombstones?: number;
}

type Index<T> = {
  readonly valuesOf: (object: T) => readonly string[];
  readonly buckets: Map<string, Map<string, T>>;
};

/** No version is newer: UIDs are never used again. */
const forever = "";

/** What caches that joined each other have in common. */
interface Contents<T> {
  readonly objects: Map<string, T>;
  /**
   * UID of what was removed -> the version up to which it is: what arrives late is older. Only what left a selection comes back, newer.
   * Oldest first.
   */
  readonly removed: Map<string, string>;
  /** Whose indexes and listeners follow: those that joined first hear of a change first. */
  readonly caches: Set<Cache<T>>;
}

export class Cache<T> implements Reader<T> {
  readonly #identify: (object: T) => Identity;
  readonly #keep: (object: T) => boolean;
  readonly #indexes = new Map<string, Index<T>>();
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #tombstones: number;
  #contents: Contents<T> = { objects: new Map(), removed: new Map(), caches: new Set([this]) };

  constructor(options: CacheOptions<T>) {
    this.#identify = (object) => options.identify(object);
    this.#keep = options.keep?.bind(options) ?? (() => true);
    this.#tombstones = options.tombstones ?? 16_384;
    for (const [name, valuesOf] of Object.entries(options.indexes ?? {})) {
      this.#indexes.set(name, { valuesOf, buckets: new Map() });
    }
  }

  /**
   * From now on both caches hold the same, and what one takes the other takes, until this one leaves. What is there already is
   * reported here as added. Only for an empty cache that was made with the same options, but for its indexes.
   */
  join(other: Cache<T>): void {
    this.#contents = other.#contents;
    const { objects, caches } = this.#contents;
    caches.add(this);
    for (const [key, object] of objects) this.#index(key, object, undefined);
    for (const object of objects.values()) this.#report({ type: "added", object });
  }

  /** Stays as it is, whatever the others take: work that is under way goes on reading what it began with. */
  leave(): void {
    const { objects, removed, caches } = this.#contents;
    caches.delete(this);
    this.#contents = { objects: new Map(objects), removed: new Map(removed), caches: new Set([this]) };
  }

  get size(): number {
    return this.#contents.objects.size;
  }

  get(key: string): T | undefined {
    return this.#contents.objects.get(key);
  }

  /**
   * Whether this very object is held, not another one of its name. To be asked after every wait of a reconcile: what is
   * remembered or watched from then on for an object that was forgotten meanwhile, nobody would take away again.
   */
  holds(key: string, uid: string | undefined): boolean {
    const held = this.#contents.objects.get(key);
    return held !== undefined && this.#identify(held).uid === uid;
  }

  values(): Iterable<T> {
    return this.#contents.objects.values();
  }

  byIndex(index: string, value: string): Iterable<T> {
    const held = this.#indexes.get(index);
    if (!held)
      throw new Error(`no index "${index}" in this cache; it has: ${[...this.#indexes.keys()].join(", ")}`);
    return held.buckets.get(value)?.values() ?? [];
  }

  /**
   * Adds an index, filled with what is held. The same function under the same name is no second index; another
   * one is an error.
   */
  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void {
    const held = this.#indexes.get(name);
    if (held !== undefined) {
      if (held.valuesOf === valuesOf) return;
      throw new Error(`index "${name}" of this cache is made by another function already`);
    }
    const index: Index<T> = { valuesOf, buckets: new Map() };
    this.#indexes.set(name, index);
    for (const [key, object] of this.#contents.objects) {
      for (const value of valuesOf(object)) enterBucket(index, value, key, object);
    }
  }

  /** Called synchronously after each change; returns the way to end it. Listeners must not throw. */
  subscribe(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes the object if it is newer than what is held and was not removed. True when it was taken. */
  upsert(object: T): boolean {
    const { key, uid, version } = this.#identify(object);
    if (this.#isRemoved(uid, version)) return false;
    const before = this.#contents.objects.get(key);
    if (!this.#keep(object)) return this.#letGo(key, uid, version, before);
    if (before === undefined) {
      this.#store(key, object, undefined);
      this.#notify({ type: "added", object });
      return true;
    }
    const held = this.#identify(before);
    if (compareVersions(version, held.version) <= 0) return false;
    if (held.uid !== uid) {
      // Another object of the same name: whoever knew the first one must hear of its end.
      this.#drop(key, before, held.uid, forever);
      this.#store(key, object, undefined);
      this.#notify({ type: "removed", object: before });
      this.#notify({ type: "added", object });
      return true;
    }
    this.#store(key, object, before);
    this.#notify({ type: "changed", object, before });
    return true;
  }

  /** What a write returned. */
  writeBack(object: T): boolean {
    return this.upsert(object);
  }

  /** The object of this UID is gone as of `version`: by a watch event, or because it is in a list no more. */
  remove(key: string, uid: string, version = forever): boolean {
    this.#bury(uid, version);
    const held = this.#contents.objects.get(key);
    if (held === undefined) return false;
    const identity = this.#identify(held);
    if (identity.uid !== uid) return false;
    // It came back into a selection, and is held already.
    if (version !== forever && compareVersions(version, identity.version) < 0) return false;
    this.#drop(key, held, uid, version);
    this.#notify({ type: "removed", object: held });
    return true;
  }

  /**
   * A complete list as of `listVersion`. Only real differences are reported. Objects that are not in the list stay
   * if they are newer than it: they were written after the list was taken.
   */
  replaceAll(objects: Iterable<T>, listVersion: string): void {
    const seen = new Set<string>();
    for (const object of objects) {
      seen.add(this.#identify(object).key);
      this.upsert(object);
    }
    for (const [key, object] of [...this.#contents.objects]) {
      if (seen.has(key)) continue;
      const { uid, version } = this.#identify(object);
      if (compareVersions(version, listVersion) > 0) continue;
      this.remove(key, uid, listVersion);
    }
  }

  /** No longer of interest; a newer version may be. */
  #letGo(key: string, uid: string, version: string, before: T | undefined): boolean {
    if (before === undefined) return false;
    const held = this.#identify(before);
    if (held.uid !== uid || compareVersions(version, held.version) <= 0) return false;
    this.#drop(key, before, uid, version);
    this.#notify({ type: "removed", object: before });
    return true;
  }

  #store(key: string, object: T, before: T | undefined): void {
    this.#contents.objects.set(key, object);
    for (const cache of this.#contents.caches) cache.#index(key, object, before);
  }

  #index(key: string, object: T, before: T | undefined): void {
    for (const index of this.#indexes.values()) {
      const values = index.valuesOf(object);
      if (before !== undefined) {
        for (const value of index.valuesOf(before)) {
          if (!values.includes(value)) leaveBucket(index, value, key);
        }
      }
      for (const value of values) enterBucket(index, value, key, object);
    }
  }

  #drop(key: string, object: T, uid: string, version: string): void {
    this.#bury(uid, version);
    this.#contents.objects.delete(key);
    for (const cache of this.#contents.caches) cache.#unindex(key, object);
  }

  #unindex(key: string, object: T): void {
    for (const index of this.#indexes.values()) {
      for (const value of index.valuesOf(object)) leaveBucket(index, value, key);
    }
  }

  #isRemoved(uid: string, version: string): boolean {
    const until = this.#contents.removed.get(uid);
    return until !== undefined && (until === forever || compareVersions(version, until) <= 0);
  }

  #bury(uid: string, version: string): void {
    const { removed } = this.#contents;
    const until = removed.get(uid);
    if (uid === "" || until === forever) return;
    if (until !== undefined && version !== forever && compareVersions(version, until) < 0) return;
    removed.set(uid, version);
    if (removed.size <= this.#tombstones) return;
    for (const oldest of removed.keys()) {
      removed.delete(oldest);
      break;
    }
  }

  #notify(change: Change<T>): void {
    for (const cache of this.#contents.caches) cache.#report(change);
  }

  #report(change: Change<T>): void {
    for (const listener of this.#listeners) listener(change);
  }
}

function enterBucket<T>(index: Index<T>, value: string, key: string, object: T): void {
  const bucket = index.buckets.get(value);
  if (bucket) bucket.set(key, object);
  else index.buckets.set(value, new Map([[key, object]]));
}

function leaveBucket<T>(index: Index<T>, value: string, key: string): void {
  const bucket = index.buckets.get(value);
  if (!bucket) return;
  bucket.delete(key);
  if (bucket.size === 0) index.buckets.delete(value);
}

/**
 * Orders two resource versions: negative when `a` is older. API servers number them; for anything else the later
 * arrival counts as newer.
 */
export function compareVersions(a: string, b: string): number {
  if (a === b) return 0;
  if (!isDecimal(a) || !isDecimal(b)) return 1;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

function isDecimal(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 48 || code > 57) return false;
  }
  return text.length > 0;
}
