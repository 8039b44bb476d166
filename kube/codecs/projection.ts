/**
 * Codecs of core kinds: protobuf asked for, JSON understood. A kind says only how its message becomes `T`;
 * JSON goes through the same door, as the message it would have been.
 */
import {
  core,
  decode,
  messageFromJson,
  protobufType,
  readListFrame,
  readWatchFrame,
  unwrap,
  WireError,
} from "../../proto/core/index.ts";
import type { Codec, ListPage, WatchDecoder, WatchEvent } from "../client_types.ts";
import { errorText } from "../core/errors.ts";
import { keyOf } from "../core/types.ts";
import { isKubeError, KubeError } from "../errors.ts";
import { decodeJsonList, decodeJsonObject, JsonWatchDecoder } from "./json.ts";

export interface Projection<T> {
  apiVersion: string;
  kind: string;
  /** Reads the kind's message (without envelope). Throws WireError. Must not keep views of the bytes. */
  fromWire(message: Uint8Array): T;
  identify(object: T): { key: string; uid: string; version: string };
}

/** The identity of projections that carry the usual fields. */
export function identifyProjection(object: {
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}): { key: string; uid: string; version: string } {
  return { key: keyOf(object), uid: object.uid, version: object.resourceVersion };
}

export function protobufCodec<T>(projection: Projection<T>): Codec<T> {
  const { apiVersion, kind } = projection;
  const viaJson = {
    fromJson: (value: object) => projection.fromWire(messageFromJson(apiVersion, kind, value)),
    identify: (object: T) => projection.identify(object),
  };
  return {
    accept: `${protobufType}, application/json`,
    decode: (body, contentType) =>
      isProtobuf(contentType)
        ? decoding(kind, () => projection.fromWire(unwrap(body).raw))
        : decodeJsonObject(viaJson, body),
    decodeList: (body, contentType) =>
      isProtobuf(contentType) ? decodeList(projection, body) : decodeJsonList(viaJson, body),
    watchDecoder: (contentType) =>
      isProtobuf(contentType) ? new FrameDecoder(projection) : new JsonWatchDecoder(viaJson),
    identify: (object) => projection.identify(object),
  };
}

export function isProtobuf(contentType: string): boolean {
  return contentType.startsWith(protobufType);
}

/** Anything that goes wrong while reading foreign bytes is a Decode error. */
function decoding<R>(what: string, run: () => R): R {
  try {
    return run();
  } catch (error) {
    if (isKubeError(error)) throw error;
    throw new KubeError("Decode", `${what}: ${errorText(error)}`, { cause: error });
  }
}

function decodeList<T>(projection: Projection<T>, body: Uint8Array): ListPage<T> {
  const frame = decoding(`${projection.kind}List`, () => readListFrame(unwrap(body).raw));
  const page: ListPage<T> = {
    items: [],
    resourceVersion: frame.resourceVersion,
    continue: frame.continue,
    undecodable: [],
  };
  for (const item of frame.items) {
    try {
      page.items.push(projection.fromWire(item));
    } catch (error) {
      page.undecodable.push({ key: wireKey(item), message: errorText(error) });
    }
  }
  return page;
}

/** The key of an object that could not be decoded as a whole, as far as it can be found. */
function wireKey(message: Uint8Array): string {
  try {
    const { metadata } = decode(core.PartialObjectMetadata, message);
    return metadata ? keyOf({ namespace: metadata.namespace, name: metadata.name }) : "";
  } catch {
    return "";
  }
}

/** One frame that is longer than this is taken for a broken stream. */
const longestFrame = 64 * 1024 * 1024;
const headerBytes = 4;

/** Splits a stream into frames: four bytes of length, then a WatchEvent. */
class FrameDecoder<T> implements WatchDecoder<T> {
  readonly #projection: Projection<T>;
  #held: Buffer = Buffer.alloc(0);
  /** Chunks of a frame that is longer than one chunk; joined once it is complete. */
  #more: Uint8Array[] = [];
  #moreBytes = 0;

  constructor(projection: Projection<T>) {
    this.#projection = projection;
  }

  push(chunk: Uint8Array): WatchEvent<T>[] {
    this.#more.push(chunk);
    this.#moreBytes += chunk.byteLength;
    if (this.#held.byteLength + this.#moreBytes < this.#needed()) return [];
    this.#held = Buffer.concat([this.#held, ...this.#more]);
    this.#more = [];
    this.#moreBytes = 0;
    const events: WatchEvent<T>[] = [];
    let start = 0;
    while (this.#held.byteLength - start >= headerBytes) {
      const end = start + headerBytes + frameLength(this.#held, start);
      if (end > this.#held.byteLength) break;
      events.push(this.#event(this.#held.subarray(start + headerBytes, end)));
      start = end;
    }
    // A copy, so that the small rest does not keep the large chunk alive.
    this.#held = Buffer.from(this.#held.subarray(start));
    return events;
  }

  #needed(): number {
    return this.#held.byteLength < headerBytes ? headerBytes : headerBytes + frameLength(this.#held, 0);
  }

  #event(bytes: Uint8Array): WatchEvent<T> {
    const { type, object } = decoding("watch frame", () => readWatchFrame(bytes));
    switch (type) {
      case "BOOKMARK":
        return decoding("bookmark", () => bookmarkOf(unwrap(object).raw));
      case "ERROR":
        return decoding("status", () => errorOf(unwrap(object).raw));
      case "ADDED":
      case "MODIFIED":
      case "DELETED":
        return this.#objectEvent(type, object);
      default:
        throw new KubeError("Decode", `a watch frame of unknown type ${JSON.stringify(type.slice(0, 20))}`);
    }
  }

  #objectEvent(type: "ADDED" | "MODIFIED" | "DELETED", object: Uint8Array): WatchEvent<T> {
    let raw = object;
    try {
      raw = unwrap(object).raw;
      return { type, object: this.#projection.fromWire(raw) };
    } catch (error) {
      return { type: "UNDECODABLE", key: wireKey(raw), message: errorText(error) };
    }
  }
}

function frameLength(buffer: Buffer, at: number): number {
  const length = buffer.readUInt32BE(at);
  if (length > longestFrame)
    throw new KubeError("Decode", `a watch frame of ${length} bytes: the stream is corrupt`);
  return length;
}

function bookmarkOf<T>(message: Uint8Array): WatchEvent<T> {
  // Every kind has its metadata in field 1; what its other numbers mean differs.
  const { metadata } = decode(core.PartialObjectMetadata, message);
  if (!metadata) throw new WireError("a bookmark without metadata");
  const initialEventsEnd = metadata.annotations["k8s.io/initial-events-end"] === "true";
  return { type: "BOOKMARK", resourceVersion: metadata.resourceVersion, initialEventsEnd };
}

function errorOf<T>(message: Uint8Array): WatchEvent<T> {
  const status = decode(core.Status, message);
  return { type: "ERROR", code: status.code, reason: status.reason, message: status.message };
}
