/** JSON bodies: custom resources as they are, or projected; and the JSON half of the protobuf codecs. */
import type { Codec, ListPage, Resource, WatchDecoder, WatchEvent } from "../client_types.ts";
import { errorText } from "../core/errors.ts";
import { type KubeObject, keyOf } from "../core/types.ts";
import { KubeError } from "../errors.ts";
import {
  expectObject,
  isObject,
  type JsonObject,
  numberAt,
  objectAt,
  parseJson,
  stringAt,
} from "./json_values.ts";

export interface JsonReading<T> {
  /** Throws when the object cannot be what it should be. */
  fromJson(value: JsonObject): T;
  identify(object: T): { key: string; uid: string; version: string };
}

/**
 * The codec of kinds whose JSON is kept as it is, but for the record of who wrote which field: nobody asks for it here, and
 * it is often as large as all the rest. `reading`: what is made of it before.
 */
export function jsonCodec<T extends KubeObject>(
  reading: (object: JsonObject) => JsonObject = (object) => object,
): Codec<T> {
  return projectedJsonCodec<T>({
    fromJson: (object) => {
      const value = reading(object);
      if (!isKubeObject<T>(value)) throw new KubeError("Decode", "an object without metadata.name");
      const { managedFields: _, ...metadata } = value.metadata;
      return { ...value, metadata };
    },
    identify: identifyKubeObject,
  });
}

/** The codec of kinds that are kept as something made of their JSON. */
export function projectedJsonCodec<T>(reading: JsonReading<T>): Codec<T> {
  return {
    accept: "application/json",
    decode: (body) => decodeJsonObject(reading, body),
    decodeList: (body) => decodeJsonList(reading, body),
    watchDecoder: () => new JsonWatchDecoder(reading),
    identify: (object) => reading.identify(object),
  };
}

/** A resource read and written as JSON. */
export function jsonResource<T extends KubeObject>(
  place: Omit<Resource<T>, "codec">,
  reading?: (object: JsonObject) => JsonObject,
): Resource<T> {
  return { ...place, codec: jsonCodec<T>(reading) };
}

function identifyKubeObject(object: KubeObject): { key: string; uid: string; version: string } {
  const { name = "", namespace, uid = "", resourceVersion = "" } = object.metadata;
  return { key: keyOf(namespace ? { namespace, name } : { name }), uid, version: resourceVersion };
}

/** The frame is checked here; what lies below it is the server's validation of the kind's schema. */
function isKubeObject<T extends KubeObject>(value: unknown): value is T {
  if (!isObject(value)) return false;
  const metadata = value["metadata"];
  return (
    isObject(metadata) &&
    (typeof metadata["name"] === "string" || typeof metadata["generateName"] === "string")
  );
}

export function decodeJsonObject<T>(reading: JsonReading<T>, body: Uint8Array): T {
  return read(reading, expectObject(parseJson(body), "the answer"));
}

export function decodeJsonList<T>(reading: JsonReading<T>, body: Uint8Array): ListPage<T> {
  const list = expectObject(parseJson(body), "the list");
  const items = list["items"];
  if (items !== null && items !== undefined && !Array.isArray(items))
    throw new KubeError("Decode", "items is not a list");
  const metadata = objectAt(list, "metadata");
  const page: ListPage<T> = {
    items: [],
    resourceVersion: stringAt(metadata, "resourceVersion"),
    continue: stringAt(metadata, "continue"),
    undecodable: [],
  };
  // Items of typed lists carry no kind; those of custom resources do. Neither is needed further on.
  for (const item of items ?? []) {
    try {
      page.items.push(read(reading, expectObject(item, "an item")));
    } catch (error) {
      page.undecodable.push({ key: jsonKey(item), message: errorText(error) });
    }
  }
  return page;
}

function read<T>(reading: JsonReading<T>, value: JsonObject): T {
  try {
    return reading.fromJson(value);
  } catch (error) {
    if (error instanceof KubeError) throw error;
    throw new KubeError("Decode", `${jsonKey(value)}: ${errorText(error)}`, { cause: error });
  }
}

function jsonKey(value: unknown): string {
  if (!isObject(value)) return "";
  const metadata = objectAt(value, "metadata");
  return keyOf({ namespace: stringAt(metadata, "namespace"), name: stringAt(metadata, "name") });
}

/** One event that is longer than this is taken for a broken stream. */
const longestEvent = 64 * 1024 * 1024;
const newline = 10;

/** Splits a stream of JSON lines into events. */
export class JsonWatchDecoder<T> implements WatchDecoder<T> {
  readonly #reading: JsonReading<T>;
  #held: Uint8Array[] = [];
  #heldBytes = 0;

  constructor(reading: JsonReading<T>) {
    this.#reading = reading;
  }

  push(chunk: Uint8Array): WatchEvent<T>[] {
    const events: WatchEvent<T>[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = this.#line(chunk.subarray(start, end));
      start = end + 1;
      if (line.byteLength > 0) events.push(this.#event(line));
    }
    if (start < chunk.byteLength) {
      this.#held.push(chunk.subarray(start));
      this.#heldBytes += chunk.byteLength - start;
      if (this.#heldBytes > longestEvent)
        throw new KubeError("Decode", `a watch event exceeds ${longestEvent} bytes`);
    }
    return events;
  }

  #line(end: Uint8Array): Uint8Array {
    if (this.#held.length === 0) return end;
    const line = Buffer.concat([...this.#held, end]);
    this.#held = [];
    this.#heldBytes = 0;
    return line;
  }

  #event(line: Uint8Array): WatchEvent<T> {
    const event = expectObject(parseJson(line), "a watch event");
    const object = event["object"];
    const type = event["type"];
    if (!isObject(object)) throw new KubeError("Decode", "a watch event without an object");
    if (type === "BOOKMARK") return jsonBookmark(object);
    if (type === "ERROR") {
      const code = numberAt(object, "code");
      return { type, code, reason: stringAt(object, "reason"), message: stringAt(object, "message") };
    }
    if (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED") {
      throw new KubeError("Decode", `a watch event of unknown type ${JSON.stringify(type)}`);
    }
    try {
      return { type, object: read(this.#reading, object) };
    } catch (error) {
      return { type: "UNDECODABLE", key: jsonKey(object), message: errorText(error) };
    }
  }
}

function jsonBookmark<T>(object: JsonObject): WatchEvent<T> {
  const metadata = objectAt(object, "metadata");
  const initialEventsEnd = objectAt(metadata, "annotations")["k8s.io/initial-events-end"] === "true";
  return { type: "BOOKMARK", resourceVersion: stringAt(metadata, "resourceVersion"), initialEventsEnd };
}
