/** The smallest thing that is a `Cluster`: for unit tests of simulated components, without API rules. */
import { cloneJson, jsonEqual, keyOf, type ObjectRef } from "../../kube/core/index.ts";
import type { Cluster, ClusterChange, StoredObject } from "../../sandbox/cluster.ts";

export class FakeCluster implements Cluster {
  readonly #tables = new Map<string, Map<string, StoredObject>>();
  readonly #listeners = new Map<string, Set<(change: ClusterChange) => void>>();
  readonly #queue: [string, ClusterChange][] = [];
  #delivering = false;
  #version = 0;
  /** All writes, as `verb resource key`. */
  readonly writes: string[] = [];
  now: () => number = () => 0;

  get(resource: string, ref: ObjectRef): StoredObject | undefined {
    return this.#table(resource).get(keyOf(ref));
  }

  list(resource: string, namespace?: string): Iterable<StoredObject> {
    const all = [...this.#table(resource).values()];
    return namespace === undefined ? all : all.filter((object) => object.metadata.namespace === namespace);
  }

  create(resource: string, object: StoredObject): StoredObject {
    const copy = cloneJson(object);
    this.#version += 1;
    const { metadata } = copy;
    metadata.name ??= `${metadata.generateName ?? ""}${this.#version.toString(36).padStart(5, "x")}`;
    metadata.uid = `uid-${this.#version}`;
    metadata.resourceVersion = String(this.#version);
    metadata.generation = 1;
    metadata.creationTimestamp = new Date(this.now()).toISOString();
    const key = keyOf({
      name: metadata.name,
      ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
    });
    if (this.#table(resource).has(key)) throw new Error(`${resource} "${key}" already exists`);
    this.#table(resource).set(key, copy);
    this.writes.push(`create ${resource} ${key}`);
    this.#tell(resource, { type: "ADDED", object: copy });
    return copy;
  }

  update(resource: string, ref: ObjectRef, change: (draft: StoredObject) => void): StoredObject | undefined {
    const before = this.get(resource, ref);
    if (!before) return undefined;
    const draft = cloneJson(before);
    change(draft);
    if (jsonEqual(before, draft)) return before;
    this.#version += 1;
    if (!jsonEqual(before["spec"], draft["spec"])) {
      draft.metadata.generation = (before.metadata.generation ?? 0) + 1;
    }
    draft.metadata.resourceVersion = String(this.#version);
    this.writes.push(`update ${resource} ${keyOf(ref)}`);
    if (
      draft.metadata.deletionTimestamp &&
      (draft.metadata.finalizers ?? []).length === 0 &&
      resource !== "pods"
    ) {
      this.#drop(resource, keyOf(ref), draft);
      return undefined;
    }
    this.#table(resource).set(keyOf(ref), draft);
    this.#tell(resource, { type: "MODIFIED", object: draft, before });
    return draft;
  }

  remove(
    resource: string,
    ref: ObjectRef,
    options: { gracePeriodSeconds?: number; uid?: string } = {},
  ): void {
    const before = this.get(resource, ref);
    if (!before || (options.uid !== undefined && before.metadata.uid !== options.uid)) return;
    const spec = before["spec"];
    const bound = typeof spec === "object" && spec !== null && "nodeName" in spec;
    const graceful = resource === "pods" && bound && options.gracePeriodSeconds !== 0;
    if (!graceful && (before.metadata.finalizers ?? []).length === 0) {
      this.#drop(resource, keyOf(ref), before);
      return;
    }
    this.update(resource, ref, (draft) => {
      draft.metadata.deletionTimestamp ??= new Date(this.now()).toISOString();
      if (graceful) draft.metadata.deletionGracePeriodSeconds = options.gracePeriodSeconds ?? 30;
    });
  }

  subscribe(resource: string, listener: (change: ClusterChange) => void): () => void {
    const listeners = this.#listeners.get(resource) ?? new Set();
    this.#listeners.set(resource, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  #drop(resource: string, key: string, object: StoredObject): void {
    this.#table(resource).delete(key);
    this.writes.push(`remove ${resource} ${key}`);
    this.#tell(resource, { type: "DELETED", object });
  }

  #table(resource: string): Map<string, StoredObject> {
    let table = this.#tables.get(resource);
    if (!table) {
      table = new Map();
      this.#tables.set(resource, table);
    }
    return table;
  }

  #tell(resource: string, change: ClusterChange): void {
    this.#queue.push([resource, change]);
    if (this.#delivering) return;
    this.#delivering = true;
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      for (const listener of this.#listeners.get(next[0]) ?? []) listener(next[1]);
    }
    this.#delivering = false;
  }
}
