/** What null means in values of core types. */
import { type CoreType, coreStruct } from "../core_types.ts";
import { isJsonObject, type JsonObject, put } from "../json.ts";

/**
 * A value of a core type (`PodTemplateSpec`, …) as a decoder with types reads it: a member that is null is absent, an item of a
 * list or an entry of a map that is null is an empty one. Lists with an item that nobody wrote down come out of charts: `- ` with
 * nothing behind it. Unknown members, and values of wrong types, stay as they are; so does the value itself where nothing is null.
 */
export function withoutNulls(value: unknown, typeName: string): unknown {
  // Each object of a watch comes by, and hardly any of them has one.
  return hasNull(value) ? read(value, { kind: "struct", name: typeName, pointer: false }) : value;
}

function hasNull(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasNull);
  return value === null || (isJsonObject(value) && Object.values(value).some(hasNull));
}

function read(value: unknown, type: CoreType): unknown {
  if (type.kind === "list") {
    if (!Array.isArray(value)) return value;
    const items = value.map((item) => read(item ?? emptyOf(type.element), type.element));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (type.kind === "scalar" || !isJsonObject(value)) return value;
  const struct = type.kind === "struct" ? coreStruct(type.name) : undefined;
  const members: JsonObject = {};
  let isChanged = false;
  for (const [key, member] of Object.entries(value)) {
    const memberType = type.kind === "map" ? type.element : struct?.get(key)?.type;
    const given = type.kind === "map" && memberType ? (member ?? emptyOf(memberType)) : member;
    const next = memberType ? read(given, memberType) : given;
    if (next !== member) isChanged = true;
    if (next !== null || memberType === undefined) put(members, key, next);
    else isChanged = true;
  }
  return isChanged ? members : value;
}

/** Undefined where null says as much: times, and values of any type. */
function emptyOf(type: CoreType): unknown {
  switch (type.kind) {
    case "list":
      return [];
    case "map":
    case "struct":
      return {};
    case "scalar":
      return emptyScalars[type.scalar] ?? null;
  }
}

const emptyScalars: Readonly<Record<string, unknown>> = {
  string: "",
  bytes: "",
  bool: false,
  int: 0,
  float: 0,
  byte: 0,
  intstr: 0,
  quantity: "0",
};
