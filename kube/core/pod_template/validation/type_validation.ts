/** Are the values of an object of the types that the API declares? */
import { parseTime } from "../../conditions.ts";
import { type CoreType, coreStruct, type ScalarName } from "../../core_types.ts";
import { ParseError } from "../../errors.ts";
import { childPath, keyPath } from "../../field_errors.ts";
import { isJsonObject, own } from "../../json.ts";
import { parseQuantity } from "../../quantity.ts";
import type { FieldError } from "../../types.ts";

/**
 * Finds values of wrong types in an object of a core type (`PodTemplateSpec`, …), at any depth. Null and absent
 * members are fine, unknown members too.
 */
export function validateTypes(value: unknown, typeName: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  check(value, { kind: "struct", name: typeName, pointer: false }, path, errors);
  return errors;
}

function check(value: unknown, type: CoreType, path: string, errors: FieldError[]): void {
  if (value === null || value === undefined) return;
  if (type.kind === "scalar") {
    checkScalar(value, type.scalar, path, errors);
  } else if (type.kind === "list") {
    if (!Array.isArray(value)) report(value, "array", path, errors);
    else for (const [index, item] of value.entries()) check(item, type.element, `${path}[${index}]`, errors);
  } else if (!isJsonObject(value)) {
    report(value, "object", path, errors);
  } else if (type.kind === "map") {
    for (const [key, item] of Object.entries(value)) check(item, type.element, keyPath(path, key), errors);
  } else {
    for (const field of coreStruct(type.name)?.values() ?? []) {
      const member = own(value, field.name);
      check(member, field.type, childPath(path, field.name), errors);
    }
  }
}

function checkScalar(value: unknown, scalar: ScalarName, path: string, errors: FieldError[]): void {
  switch (scalar) {
    case "string":
    case "bytes":
      if (typeof value !== "string") report(value, "string", path, errors);
      return;
    case "bool":
      if (typeof value !== "boolean") report(value, "boolean", path, errors);
      return;
    case "int":
    case "byte":
      if (!Number.isSafeInteger(value)) report(value, "integer", path, errors);
      return;
    case "float":
      if (typeof value !== "number") report(value, "number", path, errors);
      return;
    case "intstr":
      if (typeof value !== "string" && !Number.isSafeInteger(value)) {
        report(value, "integer or string", path, errors);
      }
      return;
    case "quantity":
      if (typeof value !== "string" && typeof value !== "number") report(value, "quantity", path, errors);
      else parses(() => parseQuantity(value), value, path, errors);
      return;
    case "time":
    case "microtime":
      if (typeof value !== "string") report(value, "string", path, errors);
      else parses(() => parseTime(value), value, path, errors);
      return;
    case "any":
  }
}

function parses(parse: () => unknown, value: unknown, path: string, errors: FieldError[]): void {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    errors.push({ path, type: "Invalid", value, detail: error.message });
  }
}

function report(value: unknown, wanted: string, path: string, errors: FieldError[]): void {
  const found = Array.isArray(value) ? "array" : typeof value;
  errors.push({ path, type: "TypeInvalid", value: found, detail: `must be of type ${wanted}: "${found}"` });
}
