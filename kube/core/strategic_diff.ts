/** Creating strategic merge patches; applying them is in strategic_patch.ts. */
import type { CoreType } from "./core_types.ts";
import { PatchError } from "./errors.ts";
import { compareBytes } from "./go_text.ts";
import { isJsonObject, type JsonObject, jsonEqual, own, put } from "./json.ts";
import {
  DELETE_FROM,
  ELEMENT_ORDER,
  identity,
  type MemberRule,
  memberRule,
  PATCH,
  RETAIN_KEYS,
  rootType,
} from "./strategic_schema.ts";

/**
 * The two-way strategic merge patch from `before` to `after`, both of a core type (`Pod`, `ObjectMeta`, …), with
 * the directives that the API's own clients send. Foreign keys of the object that it is applied to stay. Empty if
 * nothing differs. Throws PatchError for list elements without merge key.
 */
export function createStrategicPatch(before: object, after: object, typeName: string): JsonObject {
  if (!isJsonObject(before) || !isJsonObject(after)) {
    throw new PatchError("InvalidPatch", "a strategic merge patch is made of two objects");
  }
  return diffObject(before, after, rootType(typeName), false);
}

function diffObject(before: JsonObject, after: JsonObject, type: CoreType, retainKeys: boolean): JsonObject {
  const patch: JsonObject = {};
  for (const key of Object.keys(after)) {
    const value = after[key];
    const old = own(before, key);
    if (value === undefined || jsonEqual(old, value)) continue;
    if (isJsonObject(old) && isJsonObject(value)) diffMember(patch, key, old, value, memberRule(type, key));
    else if (Array.isArray(old) && Array.isArray(value))
      diffList(patch, key, old, value, memberRule(type, key));
    else put(patch, key, value);
  }
  for (const key of Object.keys(before)) {
    if (before[key] !== undefined && own(after, key) === undefined) put(patch, key, null);
  }
  const kept = Object.keys(after).filter((key) => after[key] !== undefined && after[key] !== null);
  if (retainKeys && kept.length > 0 && Object.keys(patch).length > 0) {
    patch[RETAIN_KEYS] = kept.sort(compareBytes);
  }
  return patch;
}

function diffMember(
  patch: JsonObject,
  key: string,
  old: JsonObject,
  value: JsonObject,
  rule: MemberRule,
): void {
  const inner = rule.replaces ? value : diffObject(old, value, rule.type, rule.retainsKeys);
  if (Object.keys(inner).length > 0) put(patch, key, inner);
}

function diffList(
  patch: JsonObject,
  key: string,
  old: readonly unknown[],
  value: readonly unknown[],
  rule: MemberRule,
): void {
  if (!rule.merges || old.length === 0) {
    put(patch, key, value);
    return;
  }
  if (rule.mergeKey === "") {
    const added = value.filter((element) => !old.includes(element));
    const removed = [...new Set(old.filter((element) => !value.includes(element)))];
    if (added.length > 0) put(patch, key, added);
    if (removed.length > 0) patch[DELETE_FROM + key] = removed.sort(byText);
    if (value.length > 0) patch[ELEMENT_ORDER + key] = value;
    return;
  }
  const changes = diffElements(old, value, rule);
  if (changes.length > 0) put(patch, key, changes);
  if (value.length > 0) {
    patch[ELEMENT_ORDER + key] = value.map((element) => keyOnly(element, rule.mergeKey));
  }
}

function byText(left: unknown, right: unknown): number {
  return compareBytes(String(left), String(right));
}

function keyOnly(element: unknown, mergeKey: string): JsonObject {
  return { [mergeKey]: identity(element, mergeKey) };
}

/** Changed and added elements in the order of `after`, then what goes. */
function diffElements(before: readonly unknown[], after: readonly unknown[], rule: MemberRule): unknown[] {
  const { mergeKey } = rule;
  const old = new Map(before.map((element) => [identity(element, mergeKey), element]));
  const changes: unknown[] = [];
  const present = new Set<unknown>();
  for (const element of after) {
    const key = identity(element, mergeKey);
    const previous = old.get(key);
    present.add(key);
    if (!isJsonObject(element) || !isJsonObject(previous)) {
      changes.push(element);
      continue;
    }
    const inner = diffObject(previous, element, rule.type, rule.retainsKeys);
    if (Object.keys(inner).length > 0) changes.push({ ...inner, [mergeKey]: key });
  }
  const removed = [...old.keys()].filter((key) => !present.has(key)).sort(byText);
  return [...changes, ...removed.map((key) => ({ [PATCH]: "delete", [mergeKey]: key }))];
}
