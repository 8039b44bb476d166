/** RFC 7386 merge patches. */
import { cloneJson, isJsonObject, type JsonObject, jsonEqual, own, put } from "./json.ts";

/** Applies a merge patch; `null` members of the patch remove. The given object is not changed. */
export function applyMergePatch(target: object, patch: object): JsonObject {
  return mergeObjects(isJsonObject(target) ? target : {}, isJsonObject(patch) ? patch : {});
}

function mergeObjects(target: JsonObject, patch: JsonObject): JsonObject {
  const merged: JsonObject = { ...target };
  for (const key of Object.keys(patch)) {
    const change = patch[key];
    if (change === null) delete merged[key];
    else if (isJsonObject(change)) {
      const present = own(merged, key);
      put(merged, key, mergeObjects(isJsonObject(present) ? present : {}, change));
    } else if (change !== undefined) put(merged, key, cloneJson(change));
  }
  return merged;
}

/**
 * The smallest merge patch that turns `before` into `after`. A merge patch cannot set null, so null members of
 * `after` count as absent.
 */
export function createMergePatch(before: object, after: object): JsonObject {
  return diffObjects(isJsonObject(before) ? before : {}, isJsonObject(after) ? after : {});
}

function diffObjects(before: JsonObject, after: JsonObject): JsonObject {
  const patch: JsonObject = {};
  for (const key of Object.keys(before)) {
    if (before[key] !== undefined && (own(after, key) ?? undefined) === undefined) put(patch, key, null);
  }
  for (const key of Object.keys(after)) {
    const old = own(before, key);
    const value = after[key];
    if (value === null || value === undefined || jsonEqual(old, value)) continue;
    if (isJsonObject(old) && isJsonObject(value)) {
      const inner = diffObjects(old, value);
      if (Object.keys(inner).length > 0) put(patch, key, inner);
    } else {
      put(patch, key, withoutNulls(value));
    }
  }
  return patch;
}

function withoutNulls(value: unknown): unknown {
  return isJsonObject(value) ? mergeObjects({}, value) : cloneJson(value);
}
