/** An in-memory stand-in for the client, for tests of what is built on it: optimistic locking, lists and watches. */
import type { Client, ListPage, Resource, WatchEvent, WatchStream } from "./client_types.ts";
import type { KubeObject } from "./core/types.ts";
import { keyOf, type ObjectRef } from "./core/types.ts";
import { KubeError } from "./errors.ts";

type Stored = KubeObject & Record<string, unknown>;
type Listener = { plural: string; push(type: "ADDED" | "MODIFIED" | "DELETED", object: Stored): void };

export interface FakeServer {
  readonly client: Client;
  /** Verb and key of each call, `create leases default/lock`. */
  readonly calls: string[];
  object(plural: string, key: string): Stored | undefined;
  /** Ends all open watches, as a restarting server does; with an error, breaks them. */
  endWatches(error?: KubeError): void;
  readonly openWatches: number;
}

/** Serves JSON resources only. What it cannot do it refuses with MethodNotAllowed. */
export function fakeServer(options: { streamingLists?: boolean } = {}): FakeServer {
  const objects = new Map<string, Stored>();
  const calls: string[] = [];
  const listeners = new Map<Listener, (error: KubeError | undefined) => void>();
  let version = 0;

  const decode = <T>(resource: Resource<T>, object: object): T =>
    resource.codec.decode(Buffer.from(JSON.stringify(object)), "application/json");
  const idOf = (resource: Resource<unknown>, ref: ObjectRef): string => `${resource.plural} ${keyOf(ref)}`;
  const must = (resource: Resource<unknown>, ref: ObjectRef): Stored => {
    const held = objects.get(idOf(resource, ref));
    if (!held) throw new KubeError("NotFound", `${idOf(resource, ref)} not found`, { status: 404 });
    return held;
  };
  const store = <T>(resource: Resource<T>, type: "ADDED" | "MODIFIED" | "DELETED", object: Stored): T => {
    version++;
    object.metadata = { ...object.metadata, resourceVersion: String(version) };
    const { name = "", namespace } = object.metadata;
    const id = idOf(resource, namespace ? { name, namespace } : { name });
    if (type === "DELETED") objects.delete(id);
    else objects.set(id, object);
    for (const listener of listeners.keys()) {
      if (listener.plural === resource.plural) listener.push(type, object);
    }
    return decode(resource, object);
  };
  const listOf = (plural: string): Stored[] =>
    [...objects].filter(([id]) => id.startsWith(`${plural} `)).map(([, object]) => object);

  const client: Client = {
    async get(resource, ref) {
      calls.push(`get ${idOf(resource, ref)}`);
      return decode(resource, must(resource, ref));
    },
    async list<T>(resource: Resource<T>): Promise<ListPage<T>> {
      calls.push(`list ${resource.plural}`);
      const items = listOf(resource.plural).map((object) => decode(resource, object));
      return { items, resourceVersion: String(version), continue: "", undecodable: [] };
    },
    async create(resource, namespace, body) {
      if (typeof body === "string") throw new KubeError("MethodNotAllowed", "no JSON text here");
      const object: Stored = {
        ...body,
        metadata: { uid: `uid-${version + 1}`, ...metadataOf(body) },
      };
      if (namespace) object.metadata.namespace = namespace;
      const ref = { name: object.metadata.name ?? "", ...(namespace ? { namespace } : {}) };
      calls.push(`create ${idOf(resource, ref)}`);
      if (objects.has(idOf(resource, ref)))
        throw new KubeError("AlreadyExists", `${idOf(resource, ref)} exists`, { status: 409 });
      return store(resource, "ADDED", object);
    },
    async replace(resource, ref, body) {
      calls.push(`replace ${idOf(resource, ref)}`);
      const held = must(resource, ref);
      const wanted = metadataOf(body).resourceVersion;
      if (wanted !== undefined && wanted !== held.metadata.resourceVersion) {
        throw new KubeError("Conflict", `${idOf(resource, ref)} has been modified`, { status: 409 });
      }
      return store(resource, "MODIFIED", { ...body, metadata: { ...held.metadata } });
    },
    async patch(resource, ref, patch) {
      calls.push(`patch ${idOf(resource, ref)}`);
      const held = must(resource, ref);
      if (patch.type !== "merge") throw new KubeError("MethodNotAllowed", "only merge patches here");
      const { metadata: _, ...rest } = { metadata: undefined, ...patch.body };
      return store(resource, "MODIFIED", { ...held, ...rest });
    },
    async delete(resource, ref) {
      calls.push(`delete ${idOf(resource, ref)}`);
      store(resource, "DELETED", { ...must(resource, ref) });
      return undefined;
    },
    async watch<T>(resource: Resource<T>, watch: Parameters<Client["watch"]>[1]) {
      calls.push(
        `watch ${resource.plural} ${watch.sendInitialEvents ? "with list" : `from ${watch.resourceVersion}`}`,
      );
      if (watch.sendInitialEvents && options.streamingLists === false)
        throw new KubeError("Invalid", "sendInitialEvents is forbidden");
      const first: WatchEvent<T>[] = [];
      if (watch.sendInitialEvents) {
        for (const object of listOf(resource.plural))
          first.push({ type: "ADDED", object: decode(resource, object) });
        first.push({ type: "BOOKMARK", resourceVersion: String(version), initialEventsEnd: true });
      }
      return open(resource, first, watch.signal);
    },
    request: () => Promise.reject(new KubeError("MethodNotAllowed", "no plain requests here")),
    close: () => Promise.resolve(),
  };

  function open<T>(resource: Resource<T>, first: WatchEvent<T>[], signal: AbortSignal): WatchStream<T> {
    const waiting: WatchEvent<T>[][] = first.length > 0 ? [first] : [];
    let ended: { error: KubeError | undefined } | undefined;
    let wake = (): void => undefined;
    const listener: Listener = {
      plural: resource.plural,
      push: (type, object) => {
        waiting.push([{ type, object: decode(resource, object) }]);
        wake();
      },
    };
    const end = (error: KubeError | undefined): void => {
      ended ??= { error };
      listeners.delete(listener);
      wake();
    };
    // From here on nothing is missed, even before the stream is read.
    listeners.set(listener, end);
    signal.addEventListener("abort", () => end(new KubeError("Aborted", "aborted")), { once: true });
    const read = async function* (): AsyncGenerator<readonly WatchEvent<T>[]> {
      try {
        for (;;) {
          const next = waiting.shift();
          if (next) yield next;
          else if (ended?.error) throw ended.error;
          else if (ended) return;
          else
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
        }
      } finally {
        listeners.delete(listener);
      }
    };
    return read();
  }

  return {
    client,
    calls,
    object: (plural, key) => objects.get(`${plural} ${key}`),
    endWatches: (error) => {
      for (const end of [...listeners.values()]) end(error);
    },
    get openWatches() {
      return listeners.size;
    },
  };
}

function metadataOf(body: object): KubeObject["metadata"] {
  const metadata: unknown = "metadata" in body ? body.metadata : undefined;
  return typeof metadata === "object" && metadata !== null ? { ...metadata } : {};
}
