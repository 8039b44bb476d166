/**
 * JSON objects as the protobuf bytes of the partial core types: the server's half, and the tests'.
 * Times, quantities, embedded JSON and inlined messages have another form on the wire than in JSON.
 */
import protobuf from "protobufjs/minimal.js";
import { type Field, type Message, WireError } from "../wire.ts";
import { watchFrame, wrap } from "./envelope.ts";
import * as core from "./gen/core.ts";

type Plain = Readonly<Record<string, unknown>>;

/** Kinds with a protobuf form here, by apiVersion and kind. */
const kinds: ReadonlyMap<string, Message<unknown>> = new Map<string, Message<unknown>>([
  ["v1 Pod", core.Pod],
  ["v1 Node", core.Node],
  ["v1 PersistentVolumeClaim", core.PersistentVolumeClaim],
  ["v1 ConfigMap", core.ConfigMap],
  ["v1 Namespace", core.Namespace],
  ["v1 Status", core.Status],
  ["apps/v1 ControllerRevision", core.ControllerRevision],
  ["batch/v1 Job", core.Job],
]);

/** One object with its envelope. Throws WireError for a kind without protobuf and for values of a wrong type. */
export function encodeFromJson(apiVersion: string, kind: string, json: object): Uint8Array {
  return wrap(apiVersion, kind, messageFromJson(apiVersion, kind, json));
}

/** One object's message without envelope, as lists hold it. */
export function messageFromJson(apiVersion: string, kind: string, json: object): Uint8Array {
  const type = kinds.get(`${apiVersion} ${kind}`);
  if (!type) throw new WireError(`${apiVersion} ${kind} has no protobuf form here`);
  const writer = protobuf.Writer.create();
  writeObject(writer, type, json, 0);
  return writer.finish();
}

/** A list with its envelope; `items` are messages without envelopes. `kind` is the items' kind. */
export function encodeList(
  apiVersion: string,
  kind: string,
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number },
  items: Iterable<Uint8Array>,
): Uint8Array {
  const writer = protobuf.Writer.create();
  writer.uint32(10).fork();
  writeObject(writer, core.ListMeta, metadata, 0);
  writer.ldelim();
  for (const item of items) writer.uint32(18).bytes(item);
  return wrap(apiVersion, `${kind}List`, writer.finish());
}

/** One frame of a watch stream; for `ERROR` the object is a Status. */
export function encodeWatchEvent(type: string, apiVersion: string, kind: string, json: object): Uint8Array {
  return watchFrame(type, encodeFromJson(apiVersion, kind, json));
}

const maxDepth = 32;
type Write = (writer: protobuf.Writer, value: unknown, where: string) => void;

/** Messages whose JSON form is not an object with the same fields. */
const special: Readonly<Record<string, Write>> = {
  Time: writeTime,
  Quantity: (writer, value, where) => {
    if (typeof value !== "string" && typeof value !== "number")
      throw new WireError(`${where}: not a quantity`);
    writer.uint32(10).string(String(value));
  },
  RawExtension: (writer, value) => {
    writer.uint32(10).bytes(new TextEncoder().encode(JSON.stringify(value)));
  },
};

/** Message fields whose fields stand in the parent's JSON object (Go's embedded structs). */
const inlined: ReadonlySet<string> = new Set(["localObjectReference"]);

function writeTime(writer: protobuf.Writer, value: unknown, where: string): void {
  const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(ms)) throw new WireError(`${where}: not a time: ${JSON.stringify(value)}`);
  const seconds = Math.floor(ms / 1000);
  if (seconds !== 0) writer.uint32(8).int64(seconds);
  if (ms % 1000 !== 0) writer.uint32(16).int32((ms - seconds * 1000) * 1_000_000);
}

function writeObject(writer: protobuf.Writer, type: Message<unknown>, json: unknown, depth: number): void {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw new WireError(`${type.name}: not an object`);
  if (depth > maxDepth) throw new WireError(`${type.name}: nested deeper than ${maxDepth}`);
  const source: Plain = { ...json };
  for (const field of type.fields) {
    const value = inlined.has(field.name) ? json : source[field.name];
    if (value === undefined || value === null) continue;
    const where = `${type.name}.${field.name}`;
    if (field.map) writeMap(writer, field, value, where, depth);
    else if (!field.list) writeValue(writer, field, value, where, depth);
    else if (!Array.isArray(value)) throw new WireError(`${where}: not a list`);
    else for (const item of value) writeValue(writer, field, item, where, depth);
  }
}

function writeMap(writer: protobuf.Writer, field: Field, value: unknown, where: string, depth: number): void {
  if (typeof value !== "object" || value === null) throw new WireError(`${where}: not a map`);
  for (const [key, item] of Object.entries(value)) {
    writer.uint32((field.number << 3) | 2).fork();
    writer.uint32(10).string(key);
    writeValue(writer, { ...field, number: 2 }, item, `${where}[${key}]`, depth);
    writer.ldelim();
  }
}

function writeValue(
  writer: protobuf.Writer,
  field: Field,
  value: unknown,
  where: string,
  depth: number,
): void {
  const { number, type } = field;
  if (typeof type === "function") {
    const nested = type();
    writer.uint32((number << 3) | 2).fork();
    const write = special[nested.name];
    if (write) write(writer, value, where);
    else writeObject(writer, nested, value, depth + 1);
    writer.ldelim();
  } else if (type === "string" && typeof value === "string") writer.uint32((number << 3) | 2).string(value);
  else if (type === "bool" && typeof value === "boolean") writer.uint32(number << 3).bool(value);
  else if ((type === "int32" || type === "int64") && Number.isInteger(value))
    writer.uint32(number << 3)[type](Number(value));
  else throw new WireError(`${where}: expected ${type}, got ${JSON.stringify(value)?.slice(0, 40)}`);
}
