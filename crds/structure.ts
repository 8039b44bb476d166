/**
 * The check of a value against a structural schema: types, enums, ranges, lengths, patterns, required fields. Unknown
 * fields are not an error; the API server drops them.
 */
import { type FieldError, invalid, isJsonObject, notSupported, own, required } from "../kube/core/index.ts";
import type { JsonSchema } from "./definition.ts";

export interface StructureOptions {
  /** Also demand required fields, enums, ranges and patterns. Without, only types count: what a typed decoder refuses. */
  complete: boolean;
}

/** All deviations of `value`; never throws, whatever the value. Null counts as absent, as in a typed decoder. */
export function structuralErrors(
  schema: JsonSchema,
  value: unknown,
  path: string,
  options: StructureOptions = { complete: true },
): FieldError[] {
  const errors: FieldError[] = [];
  visit(schema, value, path, options, errors);
  return errors;
}

function visit(
  schema: JsonSchema,
  value: unknown,
  path: string,
  options: StructureOptions,
  errors: FieldError[],
): void {
  if (value === undefined || value === null) return;
  const type = schema["type"];
  if (schema["x-kubernetes-int-or-string"] === true) {
    if (typeof value !== "string" && !Number.isInteger(value))
      errors.push(mistyped(path, value, "integer,string"));
    return;
  }
  if (typeof type === "string" && !hasType(type, value)) {
    errors.push(mistyped(path, value, type));
    return;
  }
  if (options.complete) rules(schema, value, path, errors);
  if (
    typeof value === "number" &&
    schema["format"] === "int32" &&
    (value > 2147483647 || value < -2147483648)
  ) {
    errors.push(invalid(path, value, "must be an integer of 32 bits"));
  }
  if (Array.isArray(value)) {
    const items = schema["items"];
    if (!isJsonObject(items)) return;
    for (const [index, item] of value.entries())
      visitEntry(items, item, `${path}[${index}]`, options, errors);
  } else if (isJsonObject(value)) {
    visitObject(schema, value, path, options, errors);
  }
}

/** Null is no entry of a list or map. */
function visitEntry(
  schema: JsonSchema,
  value: unknown,
  path: string,
  options: StructureOptions,
  errors: FieldError[],
): void {
  if (value === null) errors.push(mistyped(path, value, String(schema["type"] ?? "value")));
  else visit(schema, value, path, options, errors);
}

function visitObject(
  schema: JsonSchema,
  value: { [key: string]: unknown },
  path: string,
  options: StructureOptions,
  errors: FieldError[],
): void {
  const { properties, additionalProperties, required: names } = schema;
  const prefix = path === "" ? "" : `${path}.`;
  if (isJsonObject(properties)) {
    for (const [name, field] of Object.entries(properties)) {
      if (isJsonObject(field)) visit(field, own(value, name), `${prefix}${name}`, options, errors);
    }
  }
  if (isJsonObject(additionalProperties)) {
    for (const key of Object.keys(value))
      visitEntry(additionalProperties, value[key], `${prefix}${key}`, options, errors);
  }
  if (options.complete && Array.isArray(names)) {
    for (const name of names) {
      const member = typeof name === "string" ? own(value, name) : null;
      if (member === undefined || member === null) errors.push(required(`${prefix}${name}`));
    }
  }
}

function hasType(type: string, value: unknown): boolean {
  switch (type) {
    case "object":
      return isJsonObject(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "number":
      return typeof value === "number";
    default:
      return typeof value === type;
  }
}

function mistyped(path: string, value: unknown, wanted: string): FieldError {
  const actual = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const detail = `${path === "" ? "the object" : path} in body must be of type ${wanted}: "${actual}"`;
  return { path, type: "TypeInvalid", value: actual, detail };
}

function rules(schema: JsonSchema, value: unknown, path: string, errors: FieldError[]): void {
  const { enum: choices, minimum, minLength, maxLength, pattern } = schema;
  if (Array.isArray(choices) && !choices.includes(value)) {
    errors.push(notSupported(path, value, choices.map(String)));
  }
  if (typeof value === "number" && typeof minimum === "number" && value < minimum) {
    errors.push(invalid(path, value, `${path} in body should be greater than or equal to ${minimum}`));
  }
  if (typeof value !== "string") return;
  if (typeof minLength === "number" && value.length < minLength) {
    errors.push(invalid(path, value, `${path} in body should be at least ${minLength} chars long`));
  }
  if (typeof maxLength === "number" && value.length > maxLength) {
    errors.push(invalid(path, value, `${path} in body should be at most ${maxLength} chars long`));
  }
  if (typeof pattern === "string" && !new RegExp(pattern).test(value)) {
    errors.push(invalid(path, value, `${path} in body should match '${pattern}'`));
  }
}
