/** An in-memory stand-in for the client, for tests of what is built on it: optimistic locking, lists and watches. */
import {
  applyMergePatch,
  type Client,
  KubeError,
  type KubeObject,
  keyOf,
  type ListPage,
  type ObjectRef,
  type Patch,
  type Resource,
  type WatchEvent,
  type WatchOptions,
  type WatchStream,
} from "../../kube/index.ts";

type Stored = KubeObject & Record<string, unknown>;
type Change = "ADDED" | "MODIFIED" | "DELETED";

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
  const client = new MemoryClient(options.streamingLists ?? true);
  return {
    client,
    calls: client.calls,
    object: (plural, key) => client.objects.get(`${plural} ${key}`),
    endWatches: (error) => {
      for (const stream of [...client.streams]) stream.end(error);
    },
    get openWatches() {
      return client.streams.size;
    },
  };
}

class MemoryClient implements Client {
  readonly objects = new Map<string, Stored>();
  readonly calls: string[] = [];
  readonly streams = new Set<Stream>();
  readonly #streamsLists: boolean;
  #version = 0;

  constructor(streamsLists: boolean) {
    this.#streamsLists = streamsLists;
  }

  async get<T>(resource: Resource<T>, ref: ObjectRef): Promise<T> {
    this.calls.push(`get ${idOf(resource, ref)}`);
    return decode(resource, this.#must(resource, ref));
  }

  async list<T>(resource: Resource<T>): Promise<ListPage<T>> {
    this.calls.push(`list ${resource.plural}`);
    const items = this.#all(resource.plural).map((object) => decode(resource, object));
    return { items, resourceVersion: String(this.#version), continue: "", undecodable: [] };
  }

  async create<T>(resource: Resource<T>, namespace: string | undefined, body: object | string): Promise<T> {
    if (typeof body === "string") throw new KubeError("MethodNotAllowed", "no JSON text here");
    const metadata = {
      uid: `uid-${this.#version + 1}`,
      ...metadataOf(body),
      ...(namespace ? { namespace } : {}),
    };
    const id = idOf(resource, { name: metadata.name ?? "", ...(namespace ? { namespace } : {}) });
    this.calls.push(`create ${id}`);
    if (this.objects.has(id)) throw new KubeError("AlreadyExists", `${id} exists`, { status: 409 });
    return this.#store(resource, "ADDED", { ...body, metadata });
  }

  async replace<T>(resource: Resource<T>, ref: ObjectRef, body: object): Promise<T> {
    this.calls.push(`replace ${idOf(resource, ref)}`);
    const held = this.#must(resource, ref);
    const wanted = metadataOf(body).resourceVersion;
    if (wanted !== undefined && wanted !== held.metadata.resourceVersion) {
      throw new KubeError("Conflict", `${idOf(resource, ref)} has been modified`, { status: 409 });
    }
    return this.#store(resource, "MODIFIED", { ...body, metadata: { ...held.metadata } });
  }

  async patch<T>(resource: Resource<T>, ref: ObjectRef, patch: Patch): Promise<T> {
    this.calls.push(`patch ${idOf(resource, ref)}`);
    const held = this.#must(resource, ref);
    if (patch.type !== "merge") throw new KubeError("MethodNotAllowed", "only merge patches here");
    const { uid, resourceVersion } = held.metadata;
    const merged = applyMergePatch(held, patch.body);
    return this.#store(resource, "MODIFIED", {
      ...merged,
      metadata: {
        ...metadataOf(merged),
        ...(uid ? { uid } : {}),
        ...(resourceVersion ? { resourceVersion } : {}),
      },
    });
  }

  async delete<T>(resource: Resource<T>, ref: ObjectRef): Promise<undefined> {
    this.calls.push(`delete ${idOf(resource, ref)}`);
    this.#store(resource, "DELETED", { ...this.#must(resource, ref) });
    return undefined;
  }

  async watch<T>(resource: Resource<T>, options: WatchOptions): Promise<WatchStream<T>> {
    const from = options.sendInitialEvents ? "with list" : `from ${options.resourceVersion}`;
    this.calls.push(`watch ${resource.plural} ${from}`);
    if (options.sendInitialEvents && !this.#streamsLists) {
      throw new KubeError("Invalid", "sendInitialEvents is forbidden");
    }
    // From here on nothing is missed, even before the stream is read.
    const stream = new Stream(resource.plural, () => this.streams.delete(stream));
    this.streams.add(stream);
    options.signal.addEventListener("abort", () => stream.end(new KubeError("Aborted", "aborted")), {
      once: true,
    });
    const initial = options.sendInitialEvents ? this.#all(resource.plural) : undefined;
    return eventsOf(resource, stream, initial, String(this.#version));
  }

  request(): Promise<unknown> {
    return Promise.reject(new KubeError("MethodNotAllowed", "no plain requests here"));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #all(plural: string): Stored[] {
    return [...this.objects].filter(([id]) => id.startsWith(`${plural} `)).map(([, object]) => object);
  }

  #must(resource: Resource<unknown>, ref: ObjectRef): Stored {
    const held = this.objects.get(idOf(resource, ref));
    if (!held) throw new KubeError("NotFound", `${idOf(resource, ref)} not found`, { status: 404 });
    return held;
  }

  #store<T>(resource: Resource<T>, type: Change, from: Stored): T {
    this.#version++;
    const object = { ...from, metadata: { ...from.metadata, resourceVersion: String(this.#version) } };
    const { name = "", namespace } = object.metadata;
    const id = idOf(resource, namespace ? { name, namespace } : { name });
    if (type === "DELETED") this.objects.delete(id);
    else this.objects.set(id, object);
    for (const stream of this.streams) if (stream.plural === resource.plural) stream.push(type, object);
    return decode(resource, object);
  }
}

/** The changes that one watch has not read yet. */
class Stream {
  readonly plural: string;
  readonly waiting: { type: Change; object: Stored }[] = [];
  ended: { error: KubeError | undefined } | undefined;
  readonly #leave: () => void;
  #wake: () => void = () => undefined;

  constructor(plural: string, leave: () => void) {
    this.plural = plural;
    this.#leave = leave;
  }

  push(type: Change, object: Stored): void {
    this.waiting.push({ type, object });
    this.#wake();
  }

  end(error?: KubeError): void {
    this.ended ??= { error };
    this.#leave();
    this.#wake();
  }

  more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

async function* eventsOf<T>(
  resource: Resource<T>,
  stream: Stream,
  initial: Stored[] | undefined,
  version: string,
): AsyncGenerator<readonly WatchEvent<T>[]> {
  try {
    if (initial) {
      const list = initial.map((object) => ({ type: "ADDED", object: decode(resource, object) }) as const);
      yield [...list, { type: "BOOKMARK", resourceVersion: version, initialEventsEnd: true }];
    }
    for (;;) {
      const next = stream.waiting.shift();
      if (next) yield [{ type: next.type, object: decode(resource, next.object) }];
      else if (stream.ended?.error) throw stream.ended.error;
      else if (stream.ended) return;
      else await stream.more();
    }
  } finally {
    stream.end();
  }
}

function decode<T>(resource: Resource<T>, object: object): T {
  return resource.codec.decode(Buffer.from(JSON.stringify(object)), "application/json");
}

function idOf(resource: Resource<unknown>, ref: ObjectRef): string {
  return `${resource.plural} ${keyOf(ref)}`;
}

function metadataOf(body: object): KubeObject["metadata"] {
  const metadata: unknown = "metadata" in body ? body.metadata : undefined;
  return typeof metadata === "object" && metadata !== null ? { ...metadata } : {};
}
