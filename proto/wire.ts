/**
 * A small table-driven protobuf codec on protobufjs' reader and writer: generated tables instead of generated code
 * keep the agent's bundle and its memory small. Decoded messages have every scalar, list and map filled in; message
 * fields are absent when they were not sent. Unknown fields are skipped, also those of a newer definition.
 */
import { Buffer } from "node:buffer";
import protobuf from "protobufjs/minimal.js";

export type Scalar = "string" | "bytes" | "bool" | "int32" | "uint32" | "int64" | "uint64" | "double";

export interface Field {
  readonly number: number;
  readonly name: string;
  readonly type: Scalar | (() => Message<unknown>);
  readonly list?: true;
  /** A map from strings to `type`, which is a string or a message: the only maps in use. */
  readonly map?: true;
}

/** Describes messages of type `T`; `T` exists for the compiler only. */
export interface Message<T> {
  readonly name: string;
  readonly fields: readonly Field[];
  readonly byNumber: ReadonlyMap<number, Field>;
  readonly empty?: T;
}

/** What an encoder accepts: everything may be left out. */
export type Input<T> = T extends Uint8Array
  ? Uint8Array
  : T extends readonly (infer Item)[]
    ? readonly Input<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]?: Input<T[Key]> | undefined }
      : T;

/** Bytes that are not the message they should be. */
export class WireError extends Error {
  override readonly name = "WireError";
}

const maxDepth = 32;
type Plain = Record<string, unknown>;

export function message<T>(name: string, fields: readonly Field[]): Message<T> {
  return { name, fields, byNumber: new Map(fields.map((field) => [field.number, field])) };
}

/** Wire bytes of a message. Throws WireError on a value of the wrong type. */
export function encode<T>(type: Message<T>, value: Input<T>): Uint8Array {
  const writer = protobuf.Writer.create();
  writeMessage(writer, type, value);
  return writer.finish();
}

/** Reads a message; throws WireError when the bytes are truncated, nested too deep or of a wrong wire type. */
export function decode<T>(type: Message<T>, bytes: Uint8Array): T {
  try {
    const reader = protobuf.Reader.create(bytes);
    // The table of `type` was generated together with T: this is the one place where that is taken on trust.
    return readMessage(reader, type, reader.len, 0) as T;
  } catch (error) {
    if (error instanceof WireError) throw error;
    throw new WireError(`${type.name}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

function writeMessage(writer: protobuf.Writer, type: Message<unknown>, value: unknown): void {
  if (typeof value !== "object" || value === null) throw new WireError(`${type.name}: not an object`);
  const source: Plain = { ...value };
  for (const field of type.fields) {
    const item = source[field.name];
    if (item === undefined || item === null) continue;
    if (field.map) writeMap(writer, type, field, item);
    else if (field.list) {
      if (!Array.isArray(item)) throw new WireError(`${type.name}.${field.name}: not a list`);
      for (const one of item) writeField(writer, type, field, one, true);
    } else writeField(writer, type, field, item, false);
  }
}

function writeMap(writer: protobuf.Writer, type: Message<unknown>, field: Field, item: unknown): void {
  if (typeof item !== "object" || item === null) throw new WireError(`${type.name}.${field.name}: not a map`);
  for (const [key, value] of Object.entries(item)) {
    if (typeof field.type !== "function" && typeof value !== "string") {
      throw new WireError(`${type.name}.${field.name}[${key}]: not a string`);
    }
    writer.uint32((field.number << 3) | 2).fork();
    writer.uint32(10).string(key);
    writeField(writer, type, { number: 2, name: field.name, type: field.type }, value, true);
    writer.ldelim();
  }
}

function writeField(
  writer: protobuf.Writer,
  owner: Message<unknown>,
  field: Field,
  item: unknown,
  inList: boolean,
): void {
  const { number, type } = field;
  if (typeof type === "function") {
    writer.uint32((number << 3) | 2).fork();
    writeMessage(writer, type(), item);
    writer.ldelim();
  } else if (type === "string" && typeof item === "string") {
    if (inList || item !== "") writer.uint32((number << 3) | 2).string(item);
  } else if (type === "bytes" && item instanceof Uint8Array) {
    if (inList || item.length > 0) writer.uint32((number << 3) | 2).bytes(item);
  } else if (type === "bool" && typeof item === "boolean") {
    if (inList || item) writer.uint32(number << 3).bool(item);
  } else if (type === "double" && typeof item === "number") {
    if (inList || item !== 0) writer.uint32((number << 3) | 1).double(item);
  } else if (
    typeof item === "number" &&
    type !== "double" &&
    type !== "string" &&
    type !== "bytes" &&
    type !== "bool"
  ) {
    const [least, most] = ranges[type];
    if (!Number.isInteger(item) || item < least || item >= most) {
      throw new WireError(`${owner.name}.${field.name}: ${item} is not of type ${type}`);
    }
    if (inList || item !== 0) writer.uint32(number << 3)[type](item);
  } else {
    throw new WireError(`${owner.name}.${field.name}: expected ${type}, got ${typeof item}`);
  }
}

/** Smallest value, and the first one that is too large. */
const ranges = {
  int32: [-(2 ** 31), 2 ** 31],
  uint32: [0, 2 ** 32],
  int64: [-(2 ** 63), 2 ** 63],
  uint64: [0, 2 ** 64],
} as const;

/** A message with nothing set. */
function blank(type: Message<unknown>): Plain {
  const value: Plain = {};
  for (const field of type.fields) {
    if (field.map) value[field.name] = Object.create(null);
    else if (field.list) value[field.name] = [];
    else if (field.type === "string") value[field.name] = "";
    else if (field.type === "bytes") value[field.name] = noBytes;
    else if (field.type === "bool") value[field.name] = false;
    else if (typeof field.type === "string") value[field.name] = 0;
  }
  return value;
}
const noBytes = new Uint8Array(0);
const largeBytes = 64 * 1024;

function readMessage(reader: protobuf.Reader, type: Message<unknown>, end: number, depth: number): Plain {
  if (depth > maxDepth) throw new WireError(`${type.name}: nested deeper than ${maxDepth}`);
  if (end > reader.len) throw new WireError(`${type.name}: truncated`);
  const value = blank(type);
  while (reader.pos < end) {
    const tag = reader.uint32();
    const field = type.byNumber.get(tag >>> 3);
    if (!field) reader.skipType(tag & 7);
    else readField(reader, type, value, field, tag & 7, depth);
  }
  if (reader.pos !== end) throw new WireError(`${type.name}: a field runs past the end of its message`);
  return value;
}

function readField(
  reader: protobuf.Reader,
  owner: Message<unknown>,
  value: Plain,
  field: Field,
  wireType: number,
  depth: number,
): void {
  const { type, name } = field;
  const wanted = wireTypeOf(type);
  const packed = field.list === true && wanted !== 2 && wireType === 2;
  if (!packed && wireType !== wanted) {
    throw new WireError(`${owner.name}.${name}: wire type ${wireType} does not fit`);
  }
  const list = value[name];
  if (packed && Array.isArray(list)) {
    const end = reader.uint32() + reader.pos;
    if (end > reader.len) throw new WireError(`${owner.name}.${name}: truncated`);
    while (reader.pos < end) list.push(readScalar(reader, type));
  } else if (field.map) {
    readMapEntry(reader, owner, field, value[name], depth);
  } else {
    const item = typeof type === "function" ? readNested(reader, type(), depth) : readScalar(reader, type);
    if (Array.isArray(list)) list.push(item);
    else value[name] = item;
  }
}

/** 2: bytes with their length, 1: eight bytes, 0: a varint. */
function wireTypeOf(type: Field["type"]): number {
  if (typeof type === "function" || type === "string" || type === "bytes") return 2;
  return type === "double" ? 1 : 0;
}

function readNested(reader: protobuf.Reader, type: Message<unknown>, depth: number): Plain {
  const length = reader.uint32();
  return readMessage(reader, type, reader.pos + length, depth + 1);
}

function readMapEntry(
  reader: protobuf.Reader,
  owner: Message<unknown>,
  field: Field,
  target: unknown,
  depth: number,
): void {
  const end = reader.uint32() + reader.pos;
  if (end > reader.len) throw new WireError(`${owner.name}.${field.name}: truncated`);
  const { type } = field;
  let key = "";
  let value: unknown = typeof type === "function" ? blank(type()) : "";
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === 10) key = reader.string();
    else if (tag === 18)
      value = typeof type === "function" ? readNested(reader, type(), depth) : reader.string();
    else reader.skipType(tag & 7);
  }
  if (reader.pos !== end || typeof target !== "object" || target === null) {
    throw new WireError(`${owner.name}.${field.name}: not a map`);
  }
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

function readScalar(reader: protobuf.Reader, type: Field["type"]): unknown {
  switch (type) {
    case "string":
      return reader.string();
    case "bytes": {
      // A view keeps its whole message: cheap for bytes that are most of it, and saves a copy of megabytes.
      const bytes = reader.bytes();
      return bytes.length < largeBytes ? bytes.slice() : bytes;
    }
    case "bool":
      return reader.bool();
    case "int32":
      return reader.int32();
    case "uint32":
      return reader.uint32();
    case "int64":
      return toNumber(reader.int64());
    case "uint64":
      return toNumber(reader.uint64());
    case "double":
      return reader.double();
    default:
      throw new WireError("a message is not a scalar");
  }
}

/** Accepts numbers and Long objects. Rounds above 2^53: what is that large are nanosecond times and "no limit" values. */
function toNumber(value: unknown): number {
  return typeof value === "number" ? value : Number(String(value));
}

export interface JsonReadingOptions {
  /** How bytes fields are written: runtimes print env values as text, or as base64 since the definition has bytes. */
  readonly bytes: "text" | "base64";
}

/**
 * Reads a message from JSON with the definition's own field names, as runtimes print configs: absent members are
 * zero, enums are numbers. Throws WireError with the path of a member that the table does not know or that has another type:
 * a copy made of the result would lack it.
 */
export function fromJson<T>(type: Message<T>, json: unknown, options: JsonReadingOptions): T {
  // As in `decode`, the table of `type` was generated together with T.
  return jsonMessage(type, json, options, type.name) as T;
}

function jsonMessage(
  type: Message<unknown>,
  json: unknown,
  options: JsonReadingOptions,
  path: string,
): Plain {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw new WireError(`${path}: not an object`);
  const value = blank(type);
  const known = new Map(type.fields.map((field) => [field.name, field]));
  for (const [name, member] of Object.entries(json)) {
    const field = known.get(name);
    if (!field) throw new WireError(`${path}.${name}: unknown field`);
    if (member !== null) value[name] = jsonField(field, member, options, `${path}.${name}`);
  }
  return value;
}

function jsonField(field: Field, member: unknown, options: JsonReadingOptions, path: string): unknown {
  if (field.map) {
    if (typeof member !== "object" || member === null) throw new WireError(`${path}: not a map`);
    const map: Plain = Object.create(null);
    for (const [key, one] of Object.entries(member)) {
      if (typeof one !== "string") throw new WireError(`${path}[${key}]: not a string`);
      map[key] = one;
    }
    return map;
  }
  if (!field.list) return jsonItem(field, member, options, path);
  if (!Array.isArray(member)) throw new WireError(`${path}: not a list`);
  return member.map((one, index) => jsonItem(field, one, options, `${path}[${index}]`));
}

function jsonItem({ type }: Field, item: unknown, options: JsonReadingOptions, path: string): unknown {
  if (typeof type === "function") return jsonMessage(type(), item, options, path);
  if (type === "bytes" && typeof item === "string") {
    return Buffer.from(item, options.bytes === "base64" ? "base64" : "utf8");
  }
  const wanted =
    type === "string" ? "string" : type === "bool" ? "boolean" : type === "bytes" ? "" : "number";
  if (typeof item !== wanted) throw new WireError(`${path}: expected ${type}, got ${typeof item}`);
  return item;
}
