/** The client: typed verbs over requests, bodies through the resource's codec. */
import type {
  Client,
  Codec,
  DeleteOptions,
  ListOptions,
  ListPage,
  Patch,
  PatchOptions,
  RequestOptions,
  Resource,
  WatchEvent,
  WatchOptions,
  WatchStream,
  WriteOptions,
} from "./client_types.ts";
import type { Clock, Random } from "./clock.ts";
import { parseJson } from "./codecs/json_values.ts";
import { decodeStatus } from "./codecs/status_body.ts";
import type { ObjectRef } from "./core/types.ts";
import type { Credentials } from "./credentials_types.ts";
import { isKubeError, KubeError } from "./errors.ts";
import { Fence } from "./fence.ts";
import { type Log, nullLog } from "./log.ts";
import { type Metrics, nullMetrics } from "./metrics_types.ts";
import {
  collectionPath,
  deleteBody,
  listQuery,
  objectPath,
  watchQuery,
  withQuery,
  writeQuery,
} from "./paths.ts";
import { type Answer, type Call, Requester } from "./requester.ts";
import type { Transport } from "./transport.ts";
import { createWindow, type Window } from "./window.ts";

export interface ClientOptions {
  credentials: Credentials;
  clock: Clock;
  random: Random;
  userAgent: string;
  metrics?: Metrics;
  log?: Log;
  /** Default: a window of its own, 4 to 64 requests. Several clients may share one. */
  window?: Window;
  /** `undiciTransport`, or `nodeTransport` where memory counts more than speed. */
  transport: Transport;
  /** Longest answer that is read, in bytes. Default 256 MiB. */
  maxBytes?: number;
  /** Attempts of one request, the first included. Default 5. */
  attempts?: number;
  /** Asked before each attempt. Default: nothing stands in the way. */
  fence?: Fence;
}

export function createClient(options: ClientOptions): Client {
  return new KubeClient(options);
}

const contentTypes: Readonly<Record<Patch["type"], string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  // YAML by name; JSON is YAML.
  apply: "application/apply-patch+yaml",
};

class KubeClient implements Client {
  readonly #requester: Requester;
  readonly #transport: Transport;
  readonly #window: Window;
  readonly #metrics: Metrics;
  readonly #closing = new AbortController();

  constructor(options: ClientOptions) {
    const { clock, random, credentials, userAgent } = options;
    this.#metrics = options.metrics ?? nullMetrics;
    this.#window = options.window ?? createWindow({ clock, metrics: this.#metrics });
    this.#transport = options.transport;
    this.#requester = new Requester({
      credentials,
      clock,
      random,
      userAgent,
      transport: this.#transport,
      window: this.#window,
      metrics: this.#metrics,
      log: options.log ?? nullLog,
      maxBytes: options.maxBytes ?? 256 * 1024 * 1024,
      attempts: options.attempts ?? 5,
      fence: options.fence ?? new Fence(),
    });
  }

  async get<T>(
    resource: Resource<T>,
    ref: ObjectRef,
    options: RequestOptions & { subresource?: string } = {},
  ): Promise<T> {
    const path = objectPath(resource, ref, options.subresource);
    const answer = await this.#send(resource, "GET", "GET", path, options, { repeatable: true });
    return decodeWith(resource.codec, answer, path);
  }

  async list<T>(resource: Resource<T>, options: ListOptions = {}): Promise<ListPage<T>> {
    const path = withQuery(collectionPath(resource, options.namespace), listQuery(options));
    const answer = await this.#send(resource, "LIST", "GET", path, options, { repeatable: true });
    return named(path, () => resource.codec.decodeList(answer.body, contentTypeOf(answer)));
  }

  async create<T>(
    resource: Resource<T>,
    namespace: string | undefined,
    body: object | string,
    options: WriteOptions = {},
  ): Promise<T> {
    const path = withQuery(createPath(resource, namespace, body, options.subresource), writeQuery(options));
    const answer = await this.#send(resource, "POST", "POST", path, options, {
      body: typeof body === "string" ? body : JSON.stringify(body),
      repeatable: options.dryRun === true,
      // An eviction that a budget refuses is answered 429 (policy/v1); asking again at once is not wanted.
      waitsWhenBusy: options.subresource !== "eviction",
    });
    return decodeWith(resource.codec, answer, path);
  }

  async replace<T>(
    resource: Resource<T>,
    ref: ObjectRef,
    body: object,
    options: WriteOptions = {},
  ): Promise<T> {
    const path = withQuery(objectPath(resource, ref, options.subresource), writeQuery(options));
    const answer = await this.#send(resource, "PUT", "PUT", path, options, {
      body: JSON.stringify(body),
      repeatable: hasPrecondition(body),
    });
    return decodeWith(resource.codec, answer, path);
  }

  async patch<T>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    options: PatchOptions = {},
  ): Promise<T> {
    const { bodyWhenSent } = options;
    const query = writeQuery(
      patch.type === "apply" ? { ...options, fieldManager: patch.fieldManager } : options,
    );
    const force = patch.type === "apply" && patch.force === true;
    const path = withQuery(objectPath(resource, ref, options.subresource), { ...query, force });
    const answer = await this.#send(resource, "PATCH", "PATCH", path, options, {
      body: JSON.stringify(patch.body),
      bodyWhenSent: bodyWhenSent && (() => JSON.stringify(bodyWhenSent())),
      contentType: contentTypes[patch.type],
      repeatable: isRepeatable(patch),
    });
    return decodeWith(resource.codec, answer, path);
  }

  async delete<T>(
    resource: Resource<T>,
    ref: ObjectRef,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    const path = objectPath(resource, ref);
    try {
      const answer = await this.#send(resource, "DELETE", "DELETE", path, options, {
        body: JSON.stringify(deleteBody(options)),
        // Without a UID a second attempt could meet another object of the same name.
        repeatable: options.uid !== undefined,
      });
      const status = decodeStatus(answer.body, contentTypeOf(answer));
      return status ? undefined : decodeWith(resource.codec, answer, path);
    } catch (error) {
      // The first attempt broke on the way and the second found nothing: it had been carried out.
      if (isKubeError(error, "NotFound") && error.ambiguous) return undefined;
      throw error;
    }
  }

  async watch<T>(resource: Resource<T>, options: WatchOptions): Promise<WatchStream<T>> {
    const path = withQuery(collectionPath(resource, options.namespace), watchQuery(options));
    const stream = await this.#requester.open({
      ...this.#call(resource, "WATCH", "GET", path, {}),
      signal: AbortSignal.any([options.signal, this.#closing.signal]),
      timeoutMs: 60_000,
      repeatable: true,
    });
    return this.#events(resource, stream.chunks, stream.headers["content-type"] ?? "");
  }

  async request(method: string, path: string, body?: object, options: RequestOptions = {}): Promise<unknown> {
    const answer = await this.#send(plainPlace(path), method, method, path, options, {
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      repeatable: method === "GET" || method === "HEAD",
    });
    if (answer.body.byteLength === 0) return undefined;
    if (contentTypeOf(answer).includes("json")) return named(path, () => parseJson(answer.body));
    return new TextDecoder().decode(answer.body);
  }

  async stream(path: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const { chunks } = await this.#requester.open({
      ...this.#call(plainPlace(path), "GET", "GET", path, {}),
      signal: AbortSignal.any([signal, this.#closing.signal]),
      repeatable: true,
    });
    return chunks;
  }

  async close(): Promise<void> {
    this.#closing.abort(new KubeError("Aborted", "the client is closed"));
    this.#window.close();
    await this.#transport.close();
  }

  #send(
    resource: { plural: string; codec: { accept: string } },
    verb: string,
    method: string,
    path: string,
    options: RequestOptions & { subresource?: string },
    more: Partial<Call>,
  ): Promise<Answer> {
    return this.#requester.send({ ...this.#call(resource, verb, method, path, options), ...more });
  }

  #call(
    resource: { plural: string; codec: { accept: string } },
    verb: string,
    method: string,
    path: string,
    options: RequestOptions & { subresource?: string },
  ): Call {
    return {
      verb,
      method,
      path,
      resource: options.subresource ? `${resource.plural}/${options.subresource}` : resource.plural,
      accept: resource.codec.accept,
      repeatable: false,
      priority: options.priority ?? "normal",
      flow: options.flow ?? "",
      signal: options.signal,
      isWanted: options.isWanted,
      timeoutMs: options.timeoutMs ?? 30_000,
    };
  }

  async *#events<T>(
    resource: Resource<T>,
    chunks: AsyncIterable<Uint8Array>,
    contentType: string,
  ): AsyncGenerator<readonly WatchEvent<T>[]> {
    const decoder = resource.codec.watchDecoder(contentType);
    for await (const chunk of chunks) {
      const events = decoder.push(chunk);
      for (const event of events) this.#metrics.watchEvents(resource.plural, event.type, 1);
      // An empty batch still says that the connection lives.
      yield events;
    }
  }
}

const plainCodec = { accept: "application/json, */*" };

function plainPlace(path: string): { plural: string; codec: { accept: string } } {
  return { plural: path.split("?")[0]?.split("/").slice(1, 3).join("/") ?? "", codec: plainCodec };
}

function createPath(
  resource: Resource<unknown>,
  namespace: string | undefined,
  body: object | string,
  subresource: string | undefined,
): string {
  if (resource.namespaced && !namespace) {
    throw new KubeError(
      "BadRequest",
      `POST ${resource.plural}: the resource is namespaced, a namespace is needed`,
    );
  }
  if (subresource === undefined) return collectionPath(resource, namespace);
  // Subresources are created below an object that the body names (eviction, binding).
  const name = typeof body === "string" ? undefined : metadataOf(body)?.["name"];
  if (typeof name !== "string") {
    throw new KubeError("BadRequest", `POST ${resource.plural}/${subresource}: the body needs metadata.name`);
  }
  return objectPath(resource, namespace ? { namespace, name } : { name }, subresource);
}

function metadataOf(body: object): { readonly [name: string]: unknown } | undefined {
  const metadata: unknown = "metadata" in body ? body.metadata : undefined;
  return typeof metadata === "object" && metadata !== null ? { ...metadata } : undefined;
}

function hasPrecondition(body: object): boolean {
  const metadata = metadataOf(body);
  return typeof metadata?.["resourceVersion"] === "string" && metadata["resourceVersion"] !== "";
}

function isRepeatable(patch: Patch): boolean {
  if (patch.type === "apply") return true;
  // Merging the same twice changes nothing, as long as it is the same object.
  if (patch.type !== "json")
    return hasPrecondition(patch.body) || typeof metadataOf(patch.body)?.["uid"] === "string";
  return patch.body.some(
    (operation) => operation.op === "test" && operation.path === "/metadata/resourceVersion",
  );
}

function contentTypeOf(answer: Answer): string {
  return answer.headers["content-type"] ?? "";
}

function decodeWith<T>(codec: Codec<T>, answer: Answer, path: string): T {
  return named(path, () => codec.decode(answer.body, contentTypeOf(answer)));
}

function named<R>(path: string, run: () => R): R {
  try {
    return run();
  } catch (error) {
    if (isKubeError(error, "Decode"))
      throw new KubeError("Decode", `${path.split("?")[0]}: ${error.message}`, { cause: error });
    throw error;
  }
}
