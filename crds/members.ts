/** Reading and renaming members of plain JSON, as conversions need it; nothing given is changed. */
import { isJsonObject, type JsonObject, own } from "../kube/core/index.ts";
import { unsupportedVersion } from "./errors.ts";

export type Conversion = (object: JsonObject, version: string) => JsonObject;

/** A conversion between v1alpha1 and v1beta1 of one group. `apiVersion` is set here. */
export function conversionOf(
  group: string,
  directions: { toV1beta1(object: JsonObject): JsonObject; toV1alpha1(object: JsonObject): JsonObject },
): Conversion {
  return (object, version) => {
    const from = object["apiVersion"];
    if (version !== "v1alpha1" && version !== "v1beta1") throw unsupportedVersion(version);
    if (from === `${group}/${version}`) return object;
    if (from === `${group}/v1alpha1`)
      return { ...directions.toV1beta1(object), apiVersion: `${group}/v1beta1` };
    if (from === `${group}/v1beta1`)
      return { ...directions.toV1alpha1(object), apiVersion: `${group}/v1alpha1` };
    throw unsupportedVersion(from);
  };
}

/** A member that is an object; an empty one where there is none. */
export function member(object: JsonObject, key: string): JsonObject {
  const value = own(object, key);
  return isJsonObject(value) ? value : {};
}

/** A member that is a text; the empty one where there is none. */
export function textMember(object: JsonObject, key: string): string {
  const value = own(object, key);
  return typeof value === "string" ? value : "";
}

/** The objects in a member that is a list. */
export function objectsIn(object: JsonObject, key: string): JsonObject[] {
  const items = own(object, key);
  return Array.isArray(items) ? items.filter(isJsonObject) : [];
}

export function metadataMap(object: JsonObject, key: "labels" | "annotations"): JsonObject {
  return member(member(object, "metadata"), key);
}

/** The object with labels or annotations changed; undefined removes one. An empty map goes. */
export function withMetadataMap(
  object: JsonObject,
  key: "labels" | "annotations",
  changes: JsonObject,
): JsonObject {
  const { [key]: _, ...metadata } = member(object, "metadata");
  const entries = Object.entries({ ...metadataMap(object, key), ...changes }).filter(
    ([, value]) => value !== undefined,
  );
  const map = entries.length === 0 ? {} : { [key]: Object.fromEntries(entries) };
  return { ...object, metadata: { ...metadata, ...map } };
}

/** The object with `change` applied to a member that is an object; as it is where there is none. */
export function within(
  object: JsonObject,
  key: string,
  change: (value: JsonObject) => JsonObject,
): JsonObject {
  const value = own(object, key);
  return isJsonObject(value) ? { ...object, [key]: change(value) } : object;
}

/** The object with `change` applied to each object in a member that is a list. */
export function withinEach(
  object: JsonObject,
  key: string,
  change: (value: JsonObject) => JsonObject,
): JsonObject {
  const value = own(object, key);
  if (!Array.isArray(value)) return object;
  return { ...object, [key]: value.map((item: unknown) => (isJsonObject(item) ? change(item) : item)) };
}

export function renamed(object: JsonObject, from: string, to: string): JsonObject {
  if (own(object, from) === undefined) return object;
  const { [from]: value, ...rest } = object;
  return { ...rest, [to]: value };
}

/** As renamed, but an empty list is left out. */
export function renamedList(object: JsonObject, from: string, to: string): JsonObject {
  const value = own(object, from);
  return Array.isArray(value) && value.length === 0 ? without(object, [from]) : renamed(object, from, to);
}

export function without(object: JsonObject, keys: readonly string[]): JsonObject {
  if (!keys.some((key) => Object.hasOwn(object, key))) return object;
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

export function pick(object: JsonObject, keys: readonly string[]): JsonObject {
  const picked: JsonObject = {};
  for (const key of keys) {
    const value = own(object, key);
    if (value !== undefined) picked[key] = value;
  }
  return picked;
}
