/**
 * An API server over memory, behind the client: versions and preconditions, the four kinds of patches, lists and watches with
 * selectors. It knows no kinds, so it neither checks nor completes what it is given.
 */
import {
  applyJsonPatch,
  applyMergePatch,
  applyStrategicPatch,
  type Client,
  KubeError,
  type KubeObject,
  keyOf,
  type ObjectRef,
  objectRef,
  type Patch,
  PatchError,
  parseFieldSelector,
  parseSelector,
  type Resource,
  refOf,
  type WatchEvent,
  type WatchOptions,
} from "../../kube/index.ts";

export type StoredObject = KubeObject & Readonly<Record<string, unknown>>;
type Change = "ADDED" | "MODIFIED" | "DELETED";

export interface SentPatch {
  /** With the group, as in `clonesets.apps.kruise.io`. */
  readonly plural: string;
  readonly name: string;
  readonly subresource?: string;
  readonly patch: Patch;
}

export interface FakeServerOptions {
  /** False: `sendInitialEvents` is refused, as by servers before 1.32. */
  readonly streamingLists?: boolean;
  /** Answers a patch with an error; it is not carried out then. */
  readonly refuse?: (patch: SentPatch) => KubeError | undefined;
  /** Answers what is asked of a path; default: refused. */
  readonly request?: (path: string) => unknown;
  /** Answers a stream of text that is opened, such as a log; default: refused. */
  readonly stream?: (path: string, signal: AbortSignal) => AsyncIterable<Uint8Array>;
}

export function fakeServer(options: FakeServerOptions = {}): FakeServer {
  return new FakeServer(options);
}

/** Objects are held by plural with group, and key: `leases.coordination.k8s.io`, `default/lock`. */
export class FakeServer {
  readonly client: Client;
  /** Verb, plural and key of each call, `create leases default/lock`. */
  readonly calls: string[] = [];
  /** Those that were carried out, newest last. */
  readonly patches: SentPatch[] = [];
  readonly #objects = new Map<string, StoredObject>();
  readonly #streams = new Set<Stream>();
  /** Oldest first. */
  readonly #history: { readonly plural: string; readonly type: Change; readonly object: StoredObject }[] = [];
  readonly #options: FakeServerOptions;
  #version = 0;

  constructor(options: FakeServerOptions) {
    this.#options = options;
    this.client = this.#client();
  }

  /** The calls that write. */
  get writes(): string[] {
    return this.calls.filter((call) => /^(create|replace|patch|delete) /.test(call));
  }

  /** What each watch that was opened selects: `namespace|labels|fields`. */
  readonly watched: string[] = [];

  get openWatches(): number {
    return this.#streams.size;
  }

  get size(): number {
    return this.#objects.size;
  }

  object(plural: string, key: string): StoredObject | undefined {
    return this.#objects.get(`${plural} ${key}`);
  }

  /** As `object`, of one that must be there: throws NotFound. */
  read(plural: string, key: string): StoredObject {
    const held = this.object(plural, key);
    if (held) return held;
    const message = `${plural} "${refOf(key).name}" not found`;
    throw new KubeError("NotFound", message, { status: 404, reason: "NotFound" });
  }

  /** All objects of a resource. */
  all(plural: string): StoredObject[] {
    return [...this.#objects].filter(([id]) => id.startsWith(`${plural} `)).map(([, object]) => object);
  }

  /** Another's write, of an object that may be new. */
  put(plural: string, object: StoredObject): StoredObject {
    return this.#store(plural, object);
  }

  /** Another's deletion. */
  remove(plural: string, key: string): void {
    const { metadata, ...rest } = this.read(plural, key);
    this.#version++;
    this.#objects.delete(`${plural} ${key}`);
    const last = { ...rest, metadata: { ...metadata, resourceVersion: String(this.#version) } };
    this.#history.push({ plural, type: "DELETED", object: last });
    for (const stream of this.#streams) if (stream.shows(plural, last)) stream.push("DELETED", last);
  }

  /** Ends all open watches, as a restarting server does; with an error, breaks them. */
  endWatches(error?: KubeError): void {
    for (const stream of [...this.#streams]) stream.end(error);
  }

  #client(): Client {
    return {
      get: async (resource, ref, options = {}) => {
        this.#called("get", resource, ref);
        return decode(resource, represented(this.read(pluralOf(resource), keyOf(ref)), options.subresource));
      },
      list: async (resource, options = {}) => {
        this.calls.push(`list ${resource.plural}`);
        const items = this.#selected(pluralOf(resource), options).map((object) => decode(resource, object));
        return { items, resourceVersion: String(this.#version), continue: "", undecodable: [] };
      },
      create: async (resource, namespace, body) => {
        const { metadata, ...rest } = storedObject(typeof body === "string" ? JSON.parse(body) : body);
        const uid = `uid-${this.#version + 1}`;
        const made = { ...rest, metadata: { uid, ...metadata, ...(namespace ? { namespace } : {}) } };
        const { name } = objectRef(made);
        this.#called("create", resource, objectRef(made));
        const plural = pluralOf(resource);
        if (this.#objects.has(idOf(plural, made))) {
          throw new KubeError("AlreadyExists", `${plural} "${name}" already exists`, { status: 409 });
        }
        return decode(resource, this.#store(plural, made));
      },
      replace: async (resource, ref, body) => {
        this.#called("replace", resource, ref);
        const held = this.read(pluralOf(resource), keyOf(ref)).metadata;
        const { metadata, ...rest } = storedObject(body);
        const { uid, resourceVersion } = held;
        const given = {
          ...(uid ? { uid } : {}),
          ...(resourceVersion ? { resourceVersion } : {}),
          ...metadata,
        };
        checkPreconditions(given, held);
        return decode(resource, this.#store(pluralOf(resource), { ...rest, metadata: { ...given, ...ref } }));
      },
      patch: async (resource, ref, patch, { subresource, dryRun } = {}) => {
        this.#called("patch", resource, ref);
        const plural = pluralOf(resource);
        const held = this.read(plural, keyOf(ref));
        const sent = { plural, name: ref.name, patch, ...(subresource ? { subresource } : {}) };
        const refusal = this.#options.refuse?.(sent);
        if (refusal !== undefined) throw refusal;
        this.patches.push(sent);
        const after = storedObject(patched(held, patch, resource.kind));
        checkPreconditions(after.metadata, held.metadata);
        return decode(resource, represented(dryRun ? after : this.#store(plural, after), subresource));
      },
      delete: async (resource, ref, { uid, resourceVersion } = {}) => {
        this.#called("delete", resource, ref);
        const held = this.read(pluralOf(resource), keyOf(ref)).metadata;
        checkPreconditions(
          { ...held, ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) },
          held,
        );
        this.remove(pluralOf(resource), keyOf(ref));
        return undefined;
      },
      watch: async (resource, options) => this.#watch(resource, options),
      request: async (_method, path) => {
        if (this.#options.request) return this.#options.request(path);
        throw new KubeError("MethodNotAllowed", "no plain requests here");
      },
      stream: async (path, signal) => {
        if (this.#options.stream) return this.#options.stream(path, signal);
        throw new KubeError("MethodNotAllowed", "no streams here");
      },
      close: () => Promise.resolve(),
    };
  }

  #called(verb: string, resource: Resource<unknown>, ref: ObjectRef): void {
    this.calls.push(`${verb} ${resource.plural} ${keyOf(ref)}`);
  }

  #watch<T>(resource: Resource<T>, options: WatchOptions): AsyncGenerator<readonly WatchEvent<T>[]> {
    if (options.signal.aborted) throw new KubeError("Aborted", "aborted");
    const from = options.sendInitialEvents ? "with list" : `from ${options.resourceVersion}`;
    this.calls.push(`watch ${resource.plural} ${from}`);
    const { namespace = "", labelSelector = "", fieldSelector = "" } = options;
    this.watched.push([namespace || "*", labelSelector, fieldSelector].join("|"));
    if (options.sendInitialEvents && this.#options.streamingLists === false) {
      throw new KubeError("Invalid", "sendInitialEvents is forbidden", { status: 422 });
    }
    const plural = pluralOf(resource);
    // From here on nothing is missed, even before the stream is read.
    const stream = new Stream(plural, selection(options), () => this.#streams.delete(stream));
    this.#streams.add(stream);
    if (!options.sendInitialEvents) this.#replay(stream, Number(options.resourceVersion));
    options.signal.addEventListener("abort", () => stream.end(new KubeError("Aborted", "aborted")), {
      once: true,
    });
    const initial = options.sendInitialEvents ? this.#selected(plural, options) : undefined;
    return eventsOf(resource, stream, initial, String(this.#version));
  }

  /** What a watch from a version has missed. */
  #replay(stream: Stream, version: number): void {
    for (const { plural, type, object } of this.#history) {
      if (Number(object.metadata.resourceVersion) <= version) continue;
      if (stream.shows(plural, object)) stream.push(type, object);
    }
  }

  #selected(plural: string, options: Selection): StoredObject[] {
    return this.all(plural).filter(selection(options));
  }

  #store(plural: string, from: StoredObject): StoredObject {
    this.#version++;
    const object = { ...from, metadata: { ...from.metadata, resourceVersion: String(this.#version) } };
    const id = idOf(plural, object);
    const before = this.#objects.get(id);
    this.#objects.set(id, object);
    this.#history.push({ plural, type: before === undefined ? "ADDED" : "MODIFIED", object });
    for (const stream of this.#streams) {
      const was = before !== undefined && stream.shows(plural, before);
      if (stream.shows(plural, object)) stream.push(was ? "MODIFIED" : "ADDED", object);
      else if (was) stream.push("DELETED", object);
    }
    return object;
  }
}

type Selection = Pick<WatchOptions, "namespace" | "labelSelector" | "fieldSelector">;

function selection({ namespace = "", labelSelector = "", fieldSelector = "" }: Selection) {
  const labels = parseSelector(labelSelector);
  const fields = parseFieldSelector(fieldSelector);
  return (object: StoredObject): boolean =>
    (namespace === "" || object.metadata.namespace === namespace) &&
    labels.matches(object.metadata.labels ?? {}) &&
    fields.matches((path) => fieldOf(object, path));
}

function fieldOf(object: unknown, path: string): string {
  let value = object;
  for (const step of path.split(".")) value = Object(value)[step];
  return typeof value === "string" ? value : "";
}

function patched(held: StoredObject, patch: Patch, kind: string): object {
  if (patch.type === "json") return applied(() => applyJsonPatch(held, patch.body));
  if (patch.type === "merge") return applyMergePatch(held, patch.body);
  if (patch.type === "strategic") return applyStrategicPatch(held, patch.body, kind);
  throw new KubeError("MethodNotAllowed", "nothing is applied here");
}

/** A patch that does not apply, as a test that fails, is Invalid. */
function applied(apply: () => object): object {
  try {
    return apply();
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    throw new KubeError("Invalid", error.message, { status: 422, reason: "Invalid", cause: error });
  }
}

type Metadata = KubeObject["metadata"];

function checkPreconditions(wanted: Metadata, held: Metadata): void {
  if (wanted.resourceVersion === held.resourceVersion && wanted.uid === held.uid) return;
  const message =
    "the object has been modified; please apply your changes to the latest version and try again";
  throw new KubeError("Conflict", message, { status: 409, reason: "Conflict" });
}

/** An object as a subresource shows it. */
function represented(object: StoredObject, subresource: string | undefined): object {
  if (subresource !== "scale") return object;
  const { name, namespace, resourceVersion } = object.metadata;
  const replicas: unknown = Object(object["spec"])["replicas"];
  return { kind: "Scale", metadata: { name, namespace, resourceVersion }, spec: { replicas: replicas ?? 0 } };
}

/** The changes that one watch has not read yet. */
class Stream {
  readonly waiting: { type: Change; object: StoredObject }[] = [];
  ended: { error: KubeError | undefined } | undefined;
  readonly #plural: string;
  readonly #matches: (object: StoredObject) => boolean;
  readonly #leave: () => void;
  #wake: () => void = () => undefined;

  constructor(plural: string, matches: (object: StoredObject) => boolean, leave: () => void) {
    this.#plural = plural;
    this.#matches = matches;
    this.#leave = leave;
  }

  shows(plural: string, object: StoredObject): boolean {
    return plural === this.#plural && this.#matches(object);
  }

  push(type: Change, object: StoredObject): void {
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
  initial: StoredObject[] | undefined,
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

/** Through bytes, as over the network: a codec that loses something is found out. */
function decode<T>(resource: Resource<T>, object: object): T {
  return resource.codec.decode(Buffer.from(JSON.stringify(object)), "application/json");
}

function pluralOf({ group, plural }: Resource<unknown>): string {
  return group === "" ? plural : `${plural}.${group}`;
}

function idOf(plural: string, object: StoredObject): string {
  return `${plural} ${keyOf(objectRef(object))}`;
}

function storedObject(body: object): StoredObject {
  const metadata: unknown = "metadata" in body ? body.metadata : undefined;
  return { ...body, metadata: typeof metadata === "object" && metadata !== null ? { ...metadata } : {} };
}
