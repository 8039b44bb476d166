/** Checks a value against a structural schema. Unknown fields are not an error; the API server drops them. */
import {
  type FieldError,
  invalid,
  isJsonObject,
  type JsonObject,
  notSupported,
  own,
  required,
} from "../kube/core/index.ts";
import type { JsonSchema } from "./definition.ts";

/** All deviations; never throws. Null counts as absent. `complete`: required fields, enums, ranges and patterns, too. */
export function structuralErrors(schema: JsonSchema, value: unknown, complete: boolean): FieldError[] {
  const check = new StructureCheck(complete);
  check.visit(schema, value, "");
  return check.errors;
}

class StructureCheck {
  readonly errors: FieldError[] = [];
  readonly #complete: boolean;

  constructor(complete: boolean) {
    this.#complete = complete;
  }

  visit(schema: JsonSchema, value: unknown, path: string): void {
    if (value === undefined || value === null) return;
    const type = schema["type"];
    if (schema["x-kubernetes-int-or-string"] === true) {
      if (typeof value !== "string" && !Number.isInteger(value))
        this.errors.push(mistyped(path, value, "integer,string"));
      return;
    }
    if (typeof type === "string" && !hasType(type, value)) {
      this.errors.push(mistyped(path, value, type));
      return;
    }
    if (this.#complete) rules(schema, value, path, this.errors);
    if (schema["format"] === "int32" && (Number(value) > 2147483647 || Number(value) < -2147483648))
      this.errors.push(invalid(path, value, "must be an integer of 32 bits"));
    if (Array.isArray(value)) this.#visitList(schema["items"], value, path);
    else if (isJsonObject(value)) this.#visitObject(schema, value, path);
  }

  #visitList(items: unknown, list: readonly unknown[], path: string): void {
    if (!isJsonObject(items)) return;
    for (const [index, item] of list.entries()) this.#visitEntry(items, item, `${path}[${index}]`);
  }

  /** Null is no entry of a list or map. */
  #visitEntry(schema: JsonSchema, value: unknown, path: string): void {
    if (value === null) this.errors.push(mistyped(path, value, String(schema["type"] ?? "value")));
    else this.visit(schema, value, path);
  }

  #visitObject(schema: JsonSchema, value: JsonObject, path: string): void {
    const { properties, additionalProperties, required: names } = schema;
    const prefix = path === "" ? "" : `${path}.`;
    if (isJsonObject(properties)) {
      for (const [name, field] of Object.entries(properties)) {
        if (isJsonObject(field)) this.visit(field, own(value, name), `${prefix}${name}`);
      }
    }
    if (isJsonObject(additionalProperties)) {
      for (const key of Object.keys(value))
        this.#visitEntry(additionalProperties, value[key], `${prefix}${key}`);
    }
    if (this.#complete && Array.isArray(names)) {
      for (const name of names) {
        const member = typeof name === "string" ? own(value, name) : null;
        if (member === undefined || member === null) this.errors.push(required(`${prefix}${name}`));
      }
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
