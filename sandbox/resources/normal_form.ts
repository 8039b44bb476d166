/**
 * The form in which the server stores and sends built-in objects, whatever a client wrote: empty optional members
 * are absent, embedded structs and required members are there, quantities are canonical.
 */
import {
  type CoreField,
  type CoreType,
  canonicalQuantity,
  coreStruct,
  coreTypeOf,
  isQuantity,
} from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { type Fields, isFields } from "../json.ts";

/** Changes the object in place; kinds that are not in the table stay as they are. */
export function normalize(object: StoredObject): void {
  const typeName = coreTypeOf(object.apiVersion ?? "", object.kind ?? "");
  if (typeName !== undefined) normalizeStruct(object, typeName);
}

function normalizeStruct(value: Fields, typeName: string): void {
  for (const field of coreStruct(typeName)?.values() ?? []) {
    if (field.name === "kind" || field.name === "apiVersion") continue;
    const member = normalizeMember(value[field.name] ?? undefined, field);
    if (member === undefined) delete value[field.name];
    else value[field.name] = member;
  }
}

/** Undefined where the member is left out. */
function normalizeMember(value: unknown, field: CoreField): unknown {
  const { type, omitEmpty } = field;
  if (value === undefined) return type.pointer ? undefined : missing(type, field);
  const normal = normalizeValue(value, type);
  if (type.pointer || !omitEmpty) return normal;
  return isEmpty(normal, type) ? missing(type, field) : normal;
}

function missing(type: CoreType, field: CoreField): unknown {
  if (type.kind === "struct") {
    const made: Fields = {};
    normalizeStruct(made, type.name);
    return made;
  }
  if (type.kind !== "scalar") return undefined;
  const time = type.scalar === "time" || type.scalar === "microtime";
  if (time) return field.name === "creationTimestamp" ? undefined : null;
  return field.omitEmpty ? undefined : zeroes[type.scalar];
}

const zeroes: Readonly<Record<string, unknown>> = {
  string: "",
  bool: false,
  int: 0,
  float: 0,
  byte: 0,
  quantity: "0",
};

function isEmpty(value: unknown, type: CoreType): boolean {
  switch (type.kind) {
    case "struct":
      return false;
    case "list":
      return Array.isArray(value) && value.length === 0;
    case "map":
      return isFields(value) && Object.keys(value).length === 0;
    case "scalar":
      return value === "" || value === false || (value === 0 && type.scalar !== "intstr");
  }
}

function normalizeValue(value: unknown, type: CoreType): unknown {
  switch (type.kind) {
    case "struct":
      if (isFields(value)) normalizeStruct(value, type.name);
      return value;
    case "list":
      return Array.isArray(value) ? value.map((item) => normalizeValue(item, type.element)) : value;
    case "map":
      if (isFields(value)) {
        for (const [name, member] of Object.entries(value))
          value[name] = normalizeValue(member, type.element);
      }
      return value;
    case "scalar":
      return type.scalar === "quantity" && isQuantity(value) ? canonicalQuantity(value) : value;
  }
}
