/** The check of a value against a core type (PodTemplateSpec, …): what a typed decoder would refuse. */
import {
  type CoreType,
  coreStruct,
  type FieldError,
  invalid,
  isJsonObject,
  own,
} from "../kube/core/index.ts";

/**
 * Deviations of `value` from the core type `typeName`, types only; unknown fields are not an error. Never throws.
 * Null counts as absent.
 */
export function coreTypeErrors(typeName: string, value: unknown, path: string): FieldError[] {
  const errors: FieldError[] = [];
  visit({ kind: "struct", name: typeName, pointer: false }, value, path, errors);
  return errors;
}

function visit(type: CoreType, value: unknown, path: string, errors: FieldError[]): void {
  if (value === undefined || value === null) return;
  switch (type.kind) {
    case "scalar":
      if (!scalarFits(type.scalar, value)) errors.push(mistyped(path, value, type.scalar));
      return;
    case "list":
      if (!Array.isArray(value)) errors.push(mistyped(path, value, "array"));
      else
        for (const [index, item] of value.entries())
          visitEntry(type.element, item, `${path}[${index}]`, errors);
      return;
    case "map":
      if (!isJsonObject(value)) errors.push(mistyped(path, value, "object"));
      else
        for (const key of Object.keys(value)) visitEntry(type.element, value[key], `${path}.${key}`, errors);
      return;
    case "struct":
      visitStruct(type.name, value, path, errors);
  }
}

/** Null is no entry of a list or map. */
function visitEntry(type: CoreType, value: unknown, path: string, errors: FieldError[]): void {
  if (value === null) errors.push(mistyped(path, value, "value"));
  else visit(type, value, path, errors);
}

function visitStruct(name: string, value: unknown, path: string, errors: FieldError[]): void {
  const fields = coreStruct(name);
  if (fields === undefined) return;
  if (!isJsonObject(value)) {
    errors.push(mistyped(path, value, "object"));
    return;
  }
  for (const [field, { type }] of fields) visit(type, own(value, field), `${path}.${field}`, errors);
}

function scalarFits(scalar: string, value: unknown): boolean {
  switch (scalar) {
    case "bool":
      return typeof value === "boolean";
    case "int":
      return Number.isInteger(value);
    case "float":
      return typeof value === "number";
    case "quantity":
      return typeof value === "string" || typeof value === "number";
    case "intstr":
      return typeof value === "string" || Number.isInteger(value);
    case "any":
    case "byte":
      return true;
    default:
      return typeof value === "string";
  }
}

function mistyped(path: string, value: unknown, wanted: string): FieldError {
  return invalid(
    path,
    value === null ? "null" : Array.isArray(value) ? "array" : typeof value,
    `must be of type ${wanted}`,
  );
}
