/** Built-in objects between JSON and protobuf, field by field, from the table of field numbers. */
import protobuf from "protobufjs/minimal.js";
import { errorText } from "../../kube/core/index.ts";
import { type Fields, isFields } from "../json.ts";
import { coreSource } from "../resources/builtin.ts";
import table from "../resources/gen/protobuf_fields.json" with { type: "json" };

interface Field {
  readonly number: number;
  readonly name: string;
  readonly type: string;
  readonly shape: "one" | "list" | "map";
  /** The members of the nested message stand in the parent's JSON. */
  readonly inlined: boolean;
}

type Reader = protobuf.Reader;
type Writer = protobuf.Writer;

export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

const kinds = new Map<string, string>(Object.entries(table.kinds));
const lines = new Map<string, string>(Object.entries(table.messages));
const parsed = new Map<string, readonly Field[]>();
const meta = "k8s.io.apimachinery.pkg";

/** Name of the message of a kind, undefined where it has no protobuf form. */
export function messageOf(apiVersion: string, kind: string): string | undefined {
  if (kind === "DeleteOptions") return `${meta}.apis.meta.v1.DeleteOptions`;
  if (kind === "Status") return `${meta}.apis.meta.v1.Status`;
  return kinds.get(`${apiVersion} ${kind}`);
}

function fieldsOf(message: string): readonly Field[] {
  const known = parsed.get(message);
  if (known !== undefined) return known;
  const text = lines.get(message);
  if (text === undefined) throw new ProtobufError(`unknown message ${message}`);
  const properties = propertiesOf(message);
  const fields = text === "" ? [] : text.split(";").map((line) => parseField(line, properties));
  parsed.set(message, fields);
  return fields;
}

function propertiesOf(message: string): Fields | undefined {
  const schema = coreSource.components[message.replace(/^k8s\.io\./, "io.k8s.")];
  return isFields(schema) && isFields(schema["properties"]) ? schema["properties"] : undefined;
}

function parseField(line: string, properties: Fields | undefined): Field {
  const [number = "", name = "", spelled = ""] = line.split(" ");
  const shape = spelled.startsWith("[]") ? "list" : spelled.startsWith("{}") ? "map" : "one";
  const type = spelled.replace(/^(\[\]|\{\})/, "");
  const inlined = shape === "one" && lines.has(type) && properties !== undefined && !(name in properties);
  return { number: Number(number), name, type, shape, inlined };
}

/** Messages whose JSON is not an object of the same members. */
interface Special {
  read(reader: Reader, end: number): unknown;
  write(writer: Writer, value: unknown): void;
}

const special = new Map<string, Special>([
  [`${meta}.apis.meta.v1.Time`, { read: (reader, end) => readTime(reader, end, false), write: writeTime }],
  [
    `${meta}.apis.meta.v1.MicroTime`,
    { read: (reader, end) => readTime(reader, end, true), write: writeTime },
  ],
  [
    `${meta}.api.resource.Quantity`,
    { read: (reader, end) => readText(reader, end) ?? "0", write: writeText },
  ],
  [`${meta}.util.intstr.IntOrString`, { read: readIntOrString, write: writeIntOrString }],
  [`${meta}.apis.meta.v1.FieldsV1`, { read: readJson, write: writeJson }],
  [`${meta}.runtime.RawExtension`, { read: readJson, write: writeJson }],
  ["k8s.io.api.authorization.v1.ExtraValue", { read: readTexts, write: writeTexts }],
  ["k8s.io.api.authentication.v1.ExtraValue", { read: readTexts, write: writeTexts }],
]);

export function decodeMessage(message: string, bytes: Uint8Array): Fields {
  try {
    return readMessage(protobuf.Reader.create(bytes), bytes.length, message, {});
  } catch (error) {
    if (error instanceof ProtobufError) throw error;
    throw new ProtobufError(`proto: ${errorText(error)}`);
  }
}

function readMessage(reader: Reader, end: number, message: string, into: Fields): Fields {
  const byNumber = new Map(fieldsOf(message).map((field) => [field.number, field]));
  while (reader.pos < end) {
    const tag = reader.uint32();
    const field = byNumber.get(tag >>> 3);
    if (field === undefined) reader.skipType(tag & 7);
    else readField(reader, field, into);
  }
  return into;
}

function readField(reader: Reader, field: Field, into: Fields): void {
  if (field.shape === "map") {
    const [key, value] = readEntry(reader, field.type);
    const known = into[field.name];
    if (isFields(known)) known[key] = value;
    else into[field.name] = { [key]: value };
  } else if (field.shape === "list") {
    const known = into[field.name];
    const value = readValue(reader, field.type);
    if (Array.isArray(known)) known.push(value);
    else into[field.name] = [value];
  } else if (field.inlined) {
    const end = reader.uint32() + reader.pos;
    readMessage(reader, end, field.type, into);
  } else into[field.name] = readValue(reader, field.type);
}

function readEntry(reader: Reader, type: string): [string, unknown] {
  const end = reader.uint32() + reader.pos;
  let key = "";
  let value: unknown = lines.has(type) ? {} : "";
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === 10) key = reader.string();
    else if (tag >>> 3 === 2) value = readValue(reader, type);
    else reader.skipType(tag & 7);
  }
  return [key, value];
}

function readValue(reader: Reader, type: string): unknown {
  switch (type) {
    case "string":
      return reader.string();
    case "bytes":
      return Buffer.from(reader.bytes()).toString("base64");
    case "bool":
      return reader.bool();
    case "int32":
      return reader.int32();
    case "uint32":
      return reader.uint32();
    case "int64":
      return Number(reader.int64().toString());
    case "double":
      return reader.double();
    default: {
      const end = reader.uint32() + reader.pos;
      const own = special.get(type);
      return own === undefined ? readMessage(reader, end, type, {}) : own.read(reader, end);
    }
  }
}

/** The fields of a small message by number: texts and bytes as Buffers, the rest as numbers. */
function readRaw(reader: Reader, end: number): Map<number, (Buffer | number)[]> {
  const found = new Map<number, (Buffer | number)[]>();
  while (reader.pos < end) {
    const tag = reader.uint32();
    const value = (tag & 7) === 2 ? Buffer.from(reader.bytes()) : Number(reader.int64().toString());
    found.set(tag >>> 3, [...(found.get(tag >>> 3) ?? []), value]);
  }
  return found;
}

function readTime(reader: Reader, end: number, micro: boolean): string | null {
  const raw = readRaw(reader, end);
  const [seconds = 0] = raw.get(1) ?? [];
  const [nanos = 0] = raw.get(2) ?? [];
  if (seconds === 0 && nanos === 0) return null;
  const text = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return micro ? `${text}.${String(Math.floor(Number(nanos) / 1000)).padStart(6, "0")}Z` : `${text}Z`;
}

function readText(reader: Reader, end: number): string | undefined {
  return readRaw(reader, end).get(1)?.[0]?.toString();
}

function readTexts(reader: Reader, end: number): string[] {
  return (readRaw(reader, end).get(1) ?? []).map(String);
}

function readIntOrString(reader: Reader, end: number): unknown {
  const raw = readRaw(reader, end);
  const [type = 0] = raw.get(1) ?? [];
  const [number = 0] = raw.get(2) ?? [];
  return type === 1 ? (raw.get(3)?.[0]?.toString() ?? "") : Number(number);
}

function readJson(reader: Reader, end: number): unknown {
  const text = readText(reader, end);
  if (text === undefined || text === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    throw new ProtobufError("an embedded object is not JSON");
  }
}

export function encodeMessage(message: string, value: Fields): Uint8Array {
  const writer = protobuf.Writer.create();
  writeMessage(writer, message, value);
  return writer.finish();
}

function writeMessage(writer: Writer, message: string, value: Fields): void {
  for (const field of fieldsOf(message)) {
    if (field.inlined) writeNested(writer, field.number, () => writeMessage(writer, field.type, value));
    else writeField(writer, field, value[field.name]);
  }
}

function writeField(writer: Writer, field: Field, value: unknown): void {
  if (value === undefined || value === null) return;
  if (field.shape === "list") {
    if (Array.isArray(value)) for (const item of value) writeValue(writer, field.number, field.type, item);
  } else if (field.shape === "map") {
    for (const [key, item] of Object.entries(isFields(value) ? value : {})) {
      writeNested(writer, field.number, () => {
        writer.uint32(10).string(key);
        writeValue(writer, 2, field.type, item);
      });
    }
  } else writeValue(writer, field.number, field.type, value);
}

function writeNested(writer: Writer, number: number, write: () => void): void {
  writer.uint32((number << 3) | 2).fork();
  write();
  writer.ldelim();
}

function writeValue(writer: Writer, number: number, type: string, value: unknown): void {
  const own = special.get(type);
  if (own !== undefined) writeNested(writer, number, () => own.write(writer, value));
  else if (lines.has(type)) {
    writeNested(writer, number, () => writeMessage(writer, type, isFields(value) ? value : {}));
  } else if (type === "string") writer.uint32((number << 3) | 2).string(String(value));
  else if (type === "bytes") writer.uint32((number << 3) | 2).bytes(Buffer.from(String(value), "base64"));
  else if (type === "bool") writer.uint32(number << 3).bool(value === true);
  else if (type === "double") writer.uint32((number << 3) | 1).double(Number(value));
  else if (type === "int32") writer.uint32(number << 3).int32(Number(value));
  else writer.uint32(number << 3).int64(Number(value));
}

function writeTime(writer: Writer, value: unknown): void {
  const text = String(value);
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return;
  writer.uint32(8).int64(Math.floor(ms / 1000));
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? "";
  writer.uint32(16).int32(Number(fraction.padEnd(9, "0").slice(0, 9)));
}

function writeText(writer: Writer, value: unknown): void {
  writer.uint32(10).string(String(value));
}

function writeTexts(writer: Writer, value: unknown): void {
  if (Array.isArray(value)) for (const item of value) writer.uint32(10).string(String(item));
}

function writeIntOrString(writer: Writer, value: unknown): void {
  const text = typeof value === "string";
  writer.uint32(8).int64(text ? 1 : 0);
  writer.uint32(16).int32(text ? 0 : Number(value));
  writer.uint32(26).string(text ? value : "");
}

function writeJson(writer: Writer, value: unknown): void {
  writer.uint32(10).bytes(Buffer.from(JSON.stringify(value)));
}
