/** Watches of all that the observer asks about, which go on where they were when a server comes back. */
import { setTimeout as sleep } from "node:timers/promises";
import { kinds, storageVersion } from "../../crds/index.ts";
import type { StoredObject } from "../../sandbox/index.ts";
import { type Api, ApiError, type Item } from "../cluster/api.ts";
import type { Heard, RecordedCluster } from "./record.ts";

interface Watched {
  /** As the observer calls it. */
  readonly resource: string;
  /** As the API client calls it. */
  readonly name: string;
  readonly namespace?: string;
}

const watched: readonly Watched[] = [
  { resource: "pods", name: "pods" },
  { resource: "nodes", name: "nodes" },
  { resource: "namespaces", name: "namespaces" },
  { resource: "controllerrevisions.apps", name: "controllerrevisions" },
  { resource: "leases.coordination.k8s.io", name: "leases", namespace: "kruise-system" },
  ...kinds.map((kind) => ({
    resource: `${kind.plural}.${kind.group}`,
    name: `${kind.plural}.${storageVersion(kind).name}.${kind.group}`,
  })),
];

const againMs = 100;

export class Recorder {
  readonly #api: Api;
  readonly #record: RecordedCluster;
  readonly #over = new AbortController();
  #watches: readonly Promise<void>[] = [];

  constructor(api: Api, record: RecordedCluster) {
    this.#api = api;
    this.#record = record;
  }

  /** Resolves when all that there is was heard of. */
  async start(): Promise<void> {
    const followed = watched.map((each) => new Followed(this.#api, this.#record, each));
    await Promise.all(followed.map((each) => each.list()));
    this.#watches = followed.map((each) => each.follow(this.#over.signal));
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.allSettled(this.#watches);
  }
}

class Followed {
  readonly #api: Api;
  readonly #record: RecordedCluster;
  readonly #what: Watched;
  readonly #known = new Map<string, Item>();
  #version = "";

  constructor(api: Api, record: RecordedCluster, what: Watched) {
    this.#api = api;
    this.#record = record;
    this.#what = what;
  }

  /** What is there, and what of that which was known is gone. */
  async list(): Promise<void> {
    const { name, namespace } = this.#what;
    const { items, version } = await this.#api.listWithVersion(name, namespace);
    const there = new Set(items.map(keyOf));
    for (const [key, item] of this.#known)
      if (!there.has(key)) this.#hear("DELETED", item, Number(version), true);
    for (const item of items) {
      const known = this.#known.get(keyOf(item));
      if (known?.metadata.resourceVersion === item.metadata.resourceVersion) continue;
      this.#hear("MODIFIED", item, Number(item.metadata.resourceVersion), true);
    }
    this.#version = version;
  }

  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isForgotten = await this.#watch(signal).catch(isExpired);
      // The server may be away.
      if (isForgotten && !signal.aborted) await this.list().catch(() => undefined);
      await sleep(againMs);
    }
  }

  /** Whether the server no longer knows what came after the newest change. */
  async #watch(signal: AbortSignal): Promise<boolean> {
    const { name, namespace } = this.#what;
    const options = { resourceVersion: this.#version, signal };
    for await (const { type, object } of this.#api.watch(name, namespace, options)) {
      if (type === "ERROR") return true;
      const { resourceVersion } = object.metadata;
      this.#version = resourceVersion;
      if (type === "ADDED" || type === "MODIFIED" || type === "DELETED")
        this.#hear(type, object, Number(resourceVersion), false);
    }
    return false;
  }

  #hear(type: Heard["type"], item: Item, revision: number, isListed: boolean): void {
    if (type === "DELETED") this.#known.delete(keyOf(item));
    else this.#known.set(keyOf(item), item);
    const object: StoredObject = item;
    this.#record.hear({ revision, resource: this.#what.resource, type, object, atMs: Date.now(), isListed });
  }
}

function isExpired(error: unknown): boolean {
  return error instanceof ApiError && error.status === 410;
}

function keyOf({ metadata }: Item): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
