/**
 * What decoding into a built-in type does to a JSON body: unknown fields go, nulls go, quantities become canonical,
 * and values of a wrong type are refused in the words of the server's JSON decoder.
 */
import { type Fields, isFields } from "../json.ts";
import type { Shape } from "./shape.ts";

/** A body that does not fit its type; the caller says in which kind. */
export class TypeMismatch extends Error {
  override readonly name = "TypeMismatch";
}

export interface Typed {
  readonly object: Fields;
  /** `unknown field "spec.a"`, in the order of the document. */
  readonly unknown: readonly string[];
}

/** Throws TypeMismatch. The result shares no object with the body. */
export function decodeTyped(body: Fields, shape: Shape): Typed {
  const unknown: string[] = [];
  const object = decodeMembers(body, shape, { path: "", goPath: "", unknown });
  return { object, unknown };
}

interface Place {
  readonly path: string;
  /** Path without indexes, as Go prints it. */
  readonly goPath: string;
  readonly unknown: string[];
}

/** Null is a value here: the field has no way to be absent on the wire. */
const keptNulls: ReadonlySet<string> = new Set(["lastProbeTime"]);

function decodeMembers(value: Fields, shape: Shape, place: Place): Fields {
  const object: Fields = {};
  for (const name of Object.keys(value)) {
    const member = value[name];
    const memberShape = shape.member(name);
    if (memberShape === undefined) {
      place.unknown.push(`unknown field "${place.path === "" ? name : `${place.path}.${name}`}"`);
      continue;
    }
    if (member === null) {
      if (keptNulls.has(name)) object[name] = null;
      continue;
    }
    const inner = below(place, name);
    const decoded = decodeValue(member, memberShape, inner, shape);
    if (isAbsent(decoded, memberShape) && !shape.required.includes(name)) continue;
    if (name === "value" && decoded === "" && shape.name.endsWith(".EnvVar")) continue;
    object[name] = decoded;
  }
  return object;
}

function below(place: Place, name: string): Place {
  return {
    path: place.path === "" ? name : `${place.path}.${name}`,
    goPath: place.goPath === "" ? name : `${place.goPath}.${name}`,
    unknown: place.unknown,
  };
}

/** Empty lists and maps are not stored. */
function isAbsent(value: unknown, shape: Shape): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return shape.values !== undefined && isFields(value) && Object.keys(value).length === 0;
}

function decodeValue(value: unknown, shape: Shape, place: Place, parent: Shape): unknown {
  switch (shape.type) {
    case "object":
      if (!isFields(value)) break;
      if (shape.values !== undefined) return decodeMap(value, shape.values, place, parent);
      return shape.preserves ? value : decodeMembers(value, shape, place);
    case "array":
      if (!Array.isArray(value)) break;
      return decodeItems(value, shape, place, parent);
    case "string":
      if (shape.isQuantity) return decodeQuantity(value);
      if (shape.isTime) return decodeTime(value);
      if (typeof value === "string") return value;
      break;
    case "boolean":
    case "number":
      if (typeof value === shape.type) return value;
      break;
    case "integer":
      if (Number.isInteger(value)) return value;
      break;
    case "int-or-string":
      if (typeof value === "string" || Number.isInteger(value)) return value;
      break;
    case "any":
      return value;
  }
  throw mismatch(value, shape, place, parent);
}

function decodeMap(value: Fields, values: Shape, place: Place, parent: Shape): Fields {
  const map: Fields = {};
  for (const name of Object.keys(value)) {
    const inner = { path: `${place.path}.${name}`, goPath: place.goPath, unknown: place.unknown };
    const member = value[name];
    map[name] = member === null ? emptyOf(values) : decodeValue(member, values, inner, parent);
  }
  return map;
}

function decodeItems(value: readonly unknown[], shape: Shape, place: Place, parent: Shape): unknown[] {
  const items = shape.items;
  if (items === undefined) return [...value];
  return value.map((item, at) => {
    const inner = { path: `${place.path}[${at}]`, goPath: place.goPath, unknown: place.unknown };
    return item === null ? emptyOf(items) : decodeValue(item, items, inner, parent);
  });
}

function emptyOf(shape: Shape): unknown {
  switch (shape.type) {
    case "string":
      return shape.isQuantity ? "0" : "";
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    case "array":
      return [];
    default:
      return {};
  }
}

const quantityPattern = /^[+-]?[0-9.]+([eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)?$/;

function decodeQuantity(value: unknown): unknown {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || !quantityPattern.test(text)) {
    throw new TypeMismatch(
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  }
  return text;
}

function decodeTime(value: unknown): unknown {
  if (typeof value !== "string") {
    throw new TypeMismatch(`json: cannot unmarshal ${jsonType(value)} into Go value of type string`);
  }
  if (Number.isNaN(Date.parse(value))) {
    const quoted = JSON.stringify(value);
    throw new TypeMismatch(
      `parsing time ${quoted} as "2006-01-02T15:04:05Z07:00": cannot parse ${quoted} as "2006"`,
    );
  }
  return value;
}

function mismatch(value: unknown, shape: Shape, place: Place, parent: Shape): TypeMismatch {
  const owner = parent.name.slice(parent.name.lastIndexOf(".") + 1);
  const text = `json: cannot unmarshal ${jsonType(value)} into Go struct field ${owner}.${place.goPath} of type ${goType(shape)}`;
  return new TypeMismatch(text);
}

function jsonType(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number" && !Number.isInteger(value)) return `number ${value}`;
  return typeof value;
}

function goType(shape: Shape): string {
  const parts = shape.name.split(".");
  if (shape.name !== "" && shape.type !== "string") return parts.slice(-2).join(".");
  switch (shape.type) {
    case "array":
      return `[]${shape.items === undefined ? "interface {}" : goType(shape.items)}`;
    case "object":
      return `map[string]${shape.values === undefined ? "interface {}" : goType(shape.values)}`;
    case "integer":
      return shape.raw["format"] === "int32" ? "int32" : "int64";
    case "number":
      return "float64";
    case "boolean":
      return "bool";
    default:
      return "string";
  }
}
