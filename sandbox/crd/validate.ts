/** Values against a structural schema, with the server's complaints. */
import {
  duplicate,
  type FieldError,
  goJson,
  invalid,
  jsonEqual,
  notSupported,
  required,
  tooLong,
  tooMany,
} from "../../kube/core/index.ts";
import { type Fields, isFields, numberAt, objectsAt, textAt } from "../json.ts";
import { Shape } from "../resources/shape.ts";
import { formatError } from "./formats.ts";

/** `path` is empty for the whole object, whose apiVersion, kind and metadata are validated elsewhere. */
export function validateValue(value: unknown, shape: Shape, path: string): FieldError[] {
  if (value === null && shape.nullable) return [];
  const wrongType = typeError(value, shape, path);
  // Schemas that combine others are validated all the same.
  if (wrongType !== undefined) return [wrongType, ...combinedErrors(value, shape, path)];
  const errors = [...enumErrors(value, shape, path), ...combinedErrors(value, shape, path)];
  if (typeof value === "string") errors.push(...textErrors(value, shape, path));
  else if (typeof value === "number") errors.push(...numberErrors(value, shape, path));
  else if (Array.isArray(value)) errors.push(...listErrors(value, shape, path));
  else if (isFields(value)) errors.push(...objectErrors(value, shape, path));
  return errors;
}

function typeError(value: unknown, shape: Shape, path: string): FieldError | undefined {
  const actual = typeName(value);
  const wanted = shape.type;
  const fits =
    wanted === "any" ||
    wanted === actual ||
    (wanted === "number" && actual === "integer") ||
    (wanted === "int-or-string" && (actual === "integer" || actual === "string"));
  if (fits) return undefined;
  const type = wanted === "int-or-string" ? "integer,string" : wanted;
  return {
    path: path === "" ? "<nil>" : path,
    type: "TypeInvalid",
    value: actual,
    detail: `${path} in body must be of type ${type}: ${goJson(actual)}`,
  };
}

function typeName(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function enumErrors(value: unknown, shape: Shape, path: string): FieldError[] {
  const { raw } = shape;
  const allowed = raw["enum"];
  if (!Array.isArray(allowed) || allowed.some((item) => jsonEqual(item, value))) return [];
  const texts = allowed.map((item) => (typeof item === "string" ? item : goJson(item)));
  return [notSupported(path, value, texts)];
}

function textErrors(value: string, shape: Shape, path: string): FieldError[] {
  const { raw } = shape;
  const errors: FieldError[] = [];
  const length = [...value].length;
  const shortest = numberAt(raw, "minLength");
  const longest = numberAt(raw, "maxLength");
  if (longest !== undefined && length > longest) errors.push(tooLong(path, longest));
  if (shortest !== undefined && length < shortest) {
    errors.push(invalid(path, value, `${path} in body should be at least ${shortest} chars long`));
  }
  const pattern = textAt(raw, "pattern");
  // The server stops at the first thing that is wrong with a text.
  if (errors.length === 0 && pattern !== "" && !compiled(pattern).test(value)) {
    errors.push(invalid(path, value, `${path} in body should match '${pattern}'`));
  }
  const format = textAt(raw, "format");
  if (format !== "" && formatError(format, value)) {
    errors.push({
      path,
      type: "TypeInvalid",
      value,
      detail: `${path} in body must be of type ${format}: ${goJson(value)}`,
    });
  }
  return errors;
}

const patterns = new Map<string, RegExp>();

/** Go's patterns that JavaScript cannot read match everything, as they do where they are not enforced. */
function compiled(pattern: string): RegExp {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  let made: RegExp;
  try {
    made = new RegExp(pattern, "u");
  } catch {
    made = new RegExp(pattern);
  }
  patterns.set(pattern, made);
  return made;
}

function numberErrors(value: number, shape: Shape, path: string): FieldError[] {
  const { raw } = shape;
  const errors: FieldError[] = [];
  const low = numberAt(raw, "minimum");
  const high = numberAt(raw, "maximum");
  const step = numberAt(raw, "multipleOf");
  const complain = (side: string, isOpen: boolean, bound: number) =>
    errors.push(
      invalid(path, value, `${path} in body should be ${side} than ${isOpen ? "" : "or equal to "}${bound}`),
    );
  const isAboveLow = raw["exclusiveMinimum"] === true;
  const isBelowHigh = raw["exclusiveMaximum"] === true;
  if (low !== undefined && (isAboveLow ? value <= low : value < low)) complain("greater", isAboveLow, low);
  if (high !== undefined && (isBelowHigh ? value >= high : value > high)) complain("less", isBelowHigh, high);
  if (step !== undefined && !Number.isInteger(value / step)) {
    errors.push(invalid(path, value, `${path} in body should be a multiple of ${step}`));
  }
  const format = textAt(raw, "format");
  if (format === "int32" && (value > 2147483647 || value < -2147483648)) {
    errors.push(invalid(path, value, `${path} in body must be of type int32: ${goJson(String(value))}`));
  }
  return errors;
}

function listErrors(value: readonly unknown[], shape: Shape, path: string): FieldError[] {
  const { raw, items } = shape;
  const errors: FieldError[] = [];
  const fewest = numberAt(raw, "minItems");
  const most = numberAt(raw, "maxItems");
  if (most !== undefined && value.length > most) errors.push(tooMany(path, value.length, most));
  if (fewest !== undefined && value.length < fewest) {
    errors.push(invalid(path, value.length, `${path} in body should have at least ${fewest} items`));
  }
  errors.push(...duplicateErrors(value, shape, path));
  if (items !== undefined) {
    value.forEach((item, at) => {
      errors.push(...validateValue(item, items, `${path}[${at}]`));
    });
  }
  return errors;
}

function duplicateErrors(value: readonly unknown[], shape: Shape, path: string): FieldError[] {
  if (shape.listType === "atomic") return [];
  const seen = new Set<string>();
  const errors: FieldError[] = [];
  value.forEach((item, at) => {
    const identity = shape.listType === "set" ? item : keysOf(item, shape);
    const text = goJson(identity, { sortKeys: true });
    if (seen.has(text)) errors.push(duplicate(`${path}[${at}]`, identity));
    seen.add(text);
  });
  return errors;
}

function keysOf(item: unknown, shape: Shape): Fields {
  const keys: Fields = {};
  for (const key of shape.listKeys) if (isFields(item) && item[key] !== undefined) keys[key] = item[key];
  return keys;
}

function objectErrors(value: Fields, shape: Shape, path: string): FieldError[] {
  const { raw } = shape;
  const errors: FieldError[] = [];
  const count = Object.keys(value).length;
  const fewest = numberAt(raw, "minProperties");
  const most = numberAt(raw, "maxProperties");
  if (most !== undefined && count > most) errors.push(tooMany(path, count, most));
  if (fewest !== undefined && count < fewest) {
    errors.push(invalid(path, count, `${path} in body should have at least ${fewest} properties`));
  }
  for (const name of shape.required) {
    if (value[name] === undefined) errors.push(required(below(path, name)));
  }
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    if (path === "" && (name === "apiVersion" || name === "kind" || name === "metadata")) continue;
    if (shape.embedded && name === "metadata") continue;
    const memberShape = shape.member(name) ?? shape.values;
    if (memberShape !== undefined) errors.push(...validateValue(member, memberShape, below(path, name)));
  }
  return errors;
}

function below(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** allOf, anyOf, oneOf and not. */
function combinedErrors(value: unknown, shape: Shape, path: string): FieldError[] {
  const { raw, source } = shape;
  const errorsOf = (part: Fields): FieldError[] => validateValue(value, new Shape(part, source), path);
  const errors = objectsAt(raw, "allOf").flatMap(errorsOf);
  const any = objectsAt(raw, "anyOf");
  const [first] = any;
  if (first !== undefined && !any.some((part) => errorsOf(part).length === 0)) {
    errors.push(
      invalid("<nil>", "", `"${path}" must validate at least one schema (anyOf)`),
      ...errorsOf(first),
    );
  }
  const one = objectsAt(raw, "oneOf");
  const fitting = one.filter((part) => errorsOf(part).length === 0).length;
  if (one.length > 0 && fitting !== 1) {
    const found = fitting === 0 ? "Found none valid" : `Found ${fitting} valid alternatives`;
    errors.push(invalid("<nil>", "", `"${path}" must validate one and only one schema (oneOf). ${found}`));
  }
  const { not } = raw;
  if (isFields(not) && errorsOf(not).length === 0) {
    errors.push(invalid("<nil>", "", `"${path}" must not validate the schema (not)`));
  }
  return errors;
}
