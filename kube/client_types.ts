/** The client's face. Implementations: undici over HTTPS (client.ts). Faults for tests: withFaults(client, …). */
import type { JsonPatchOperation } from "./core/json_patch.ts";
import type { ObjectRef } from "./core/types.ts";

export type { JsonPatchOperation } from "./core/json_patch.ts";

/**
 * One served resource and how its bodies become `T`. Core kinds decode protobuf into projections;
 * custom kinds decode JSON. A projection is read-only: it is never a body of a write.
 */
export interface Resource<T> {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly codec: Codec<T>;
}

export interface Codec<T> {
  /** Value of the Accept header. */
  readonly accept: string;
  /** One object from a response body. Throws KubeError `Decode`. */
  decode(body: Uint8Array, contentType: string): T;
  decodeList(body: Uint8Array, contentType: string): ListPage<T>;
  /** Splits a watch stream's bytes into events; keeps what is incomplete. Throws KubeError `Decode` on a corrupt frame. */
  watchDecoder(contentType: string): WatchDecoder<T>;
  /** Identity of a decoded object. `version` is metadata.resourceVersion. */
  identify(object: T): { key: string; uid: string; version: string };
}

export interface WatchDecoder<T> {
  push(chunk: Uint8Array): WatchEvent<T>[];
}

export type WatchEvent<T> =
  | { type: "ADDED" | "MODIFIED" | "DELETED"; object: T }
  | { type: "BOOKMARK"; resourceVersion: string; initialEventsEnd: boolean }
  | { type: "ERROR"; code: number; reason: string; message: string }
  /** One frame was well formed but its object could not be decoded; the stream goes on. */
  | { type: "UNDECODABLE"; key: string; message: string };

export interface ListPage<T> {
  items: T[];
  resourceVersion: string;
  continue: string;
  /** Items that could not be decoded, by key; they are logged once and skipped. */
  undecodable: { key: string; message: string }[];
}

export type Patch =
  | { type: "json"; body: readonly JsonPatchOperation[] }
  | { type: "merge"; body: object }
  | { type: "strategic"; body: object }
  | { type: "apply"; body: object; fieldManager: string; force?: boolean };

/**
 * `leadership` keeps it, and waits for nothing; `urgent` brings a pod back into service that is out of it; `prompt` lets a new pod
 * serve for the first time; other writes of pods are `high`. Those go before the status of workloads, which goes before events.
 */
export type Priority = "leadership" | "urgent" | "prompt" | "high" | "normal" | "low";

export interface RequestOptions {
  /** Default `normal`. */
  priority?: Priority;
  /** Fairness key: flows share the window equally; usually the workload's UID. */
  flow?: string;
  signal?: AbortSignal;
  /**
   * Asked when there is a place in the window for the request, which may be long after it was made. Where not, it is not sent
   * (KubeError `Aborted`).
   */
  isWanted?: () => boolean;
  /** Milliseconds; default 30 000. */
  timeoutMs?: number;
}

export interface WriteOptions extends RequestOptions {
  subresource?: string;
  fieldManager?: string;
  dryRun?: boolean;
}

export interface PatchOptions extends WriteOptions {
  /**
   * The body as it is when the request is sent, which may be long after it was made: others have places in the window before.
   * It has the preconditions of the one that it replaces.
   */
  bodyWhenSent?: () => object;
}

export interface ListOptions extends RequestOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  limit?: number;
  continue?: string;
  resourceVersion?: string;
}

export interface DeleteOptions extends RequestOptions {
  uid?: string;
  resourceVersion?: string;
  gracePeriodSeconds?: number;
  propagationPolicy?: "Orphan" | "Background" | "Foreground";
  dryRun?: boolean;
}

export interface Client {
  get<T>(
    resource: Resource<T>,
    ref: ObjectRef,
    options?: RequestOptions & { subresource?: string },
  ): Promise<T>;
  list<T>(resource: Resource<T>, options?: ListOptions): Promise<ListPage<T>>;
  create<T>(
    resource: Resource<T>,
    namespace: string | undefined,
    /** An object, or JSON text that goes out byte for byte. */
    body: object | string,
    options?: WriteOptions,
  ): Promise<T>;
  /** Only for objects that nobody else writes (Lease, our Secret); body is a full JSON object. */
  replace<T>(resource: Resource<T>, ref: ObjectRef, body: object, options?: WriteOptions): Promise<T>;
  patch<T>(resource: Resource<T>, ref: ObjectRef, patch: Patch, options?: PatchOptions): Promise<T>;
  /** The object as it is now being deleted, or undefined when the server removed it at once. */
  delete<T>(resource: Resource<T>, ref: ObjectRef, options?: DeleteOptions): Promise<T | undefined>;
  /** Opens a watch; the stream ends when the server closes it. Errors are KubeError. */
  watch<T>(resource: Resource<T>, options: WatchOptions): Promise<WatchStream<T>>;
  /** Plain JSON request, for discovery and non-resource paths. */
  request(method: string, path: string, body?: object, options?: RequestOptions): Promise<unknown>;
  /**
   * Text of a path that goes on, such as a container's log: bytes as they come, until the server ends them. Opened once; throws
   * KubeError when it is refused, and while it is read when the connection breaks.
   */
  stream(path: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  close(): Promise<void>;
}

/** For reading: objects, watches, discovery. */
export interface ReadingClient extends Pick<Client, "get" | "list" | "watch"> {
  request(method: "GET", path: string, body?: undefined, options?: RequestOptions): Promise<unknown>;
}

/** `replace` is not among them: what others write, too, is patched. */
export type Writer = Pick<Client, "create" | "patch" | "delete">;

export interface WatchOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  resourceVersion?: string;
  /** Streaming list: initial events then a bookmark (`sendInitialEvents`). */
  sendInitialEvents?: boolean;
  timeoutSeconds?: number;
  signal: AbortSignal;
}

/** Batches of events, as they arrived together. */
export type WatchStream<T> = AsyncIterable<readonly WatchEvent<T>[]>;
