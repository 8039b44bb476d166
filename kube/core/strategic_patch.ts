/** Applying strategic merge patches. Creating them is in strategic_diff.ts. */
import type { CoreType } from "./core_types.ts";
import { PatchError } from "./errors.ts";
import { isJsonObject, type JsonObject, own, put } from "./json.ts";
import {
  DELETE_FROM,
  ELEMENT_ORDER,
  identity,
  type MemberRule,
  memberRule,
  PATCH,
  positions,
  RETAIN_KEYS,
  rootType,
} from "./strategic_schema.ts";

/**
 * Applies a strategic merge patch to an object of a core type (`Pod`, `PodTemplateSpec`, `ObjectMeta`, …) and returns
 * the result; the given object is not changed, untouched parts are shared. Throws PatchError: `InvalidPath` for a
 * field that the type does not have, `InvalidPatch` for malformed directives and elements without merge key.
 */
export function applyStrategicPatch(original: object, patch: object, typeName: string): JsonObject {
  if (!isJsonObject(original) || !isJsonObject(patch)) {
    throw new PatchError("InvalidPatch", "a strategic merge patch and its document are objects");
  }
  return mergeObject(original, patch, rootType(typeName));
}

function mergeObject(original: JsonObject, patch: JsonObject, type: CoreType): JsonObject {
  if (Object.hasOwn(patch, PATCH)) return directive(patch);
  const merged = retainKeys(original, patch);
  const ordered = new Set<string>();
  for (const key of Object.keys(patch)) {
    if (!key.startsWith(ELEMENT_ORDER)) continue;
    const field = key.slice(ELEMENT_ORDER.length);
    ordered.add(field);
    orderedList(merged, field, own(patch, field), patch[key], memberRule(type, field));
  }
  for (const key of Object.keys(patch)) {
    if (key === RETAIN_KEYS || key.startsWith(ELEMENT_ORDER) || ordered.has(key)) continue;
    if (key.startsWith(DELETE_FROM)) {
      deleteFromList(merged, key.slice(DELETE_FROM.length), patch[key]);
    } else {
      mergeMember(merged, key, patch[key], type);
    }
  }
  return merged;
}

function directive(patch: JsonObject): JsonObject {
  const { [PATCH]: word, ...rest } = patch;
  if (word === "replace") return rest;
  if (word === "delete") return {};
  throw new PatchError("InvalidPatch", `unknown patch type: ${JSON.stringify(word)} in map`);
}

/** A copy of the original, reduced to the keys that the patch says to retain. */
function retainKeys(original: JsonObject, patch: JsonObject): JsonObject {
  const retained = own(patch, RETAIN_KEYS);
  if (retained === undefined) return { ...original };
  const keys = new Set<unknown>(list(retained, RETAIN_KEYS));
  for (const key of Object.keys(patch)) {
    if (patch[key] === null || key.startsWith("$") || keys.has(key)) continue;
    throw new PatchError("InvalidPatch", `invalid patch format of ${RETAIN_KEYS}: ${key} is not retained`);
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => keys.has(key)));
}

function list(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new PatchError("InvalidPatch", `${what} must be a list, not ${JSON.stringify(value)}`);
}

function deleteFromList(merged: JsonObject, field: string, value: unknown): void {
  const removed = new Set(list(value, DELETE_FROM + field));
  const present = own(merged, field);
  if (Array.isArray(present))
    put(
      merged,
      field,
      present.filter((element) => !removed.has(element)),
    );
}

function mergeMember(merged: JsonObject, key: string, change: unknown, type: CoreType): void {
  const present = own(merged, key);
  if (change === null) {
    delete merged[key];
  } else if (isJsonObject(present) && isJsonObject(change)) {
    const rule = memberRule(type, key);
    put(merged, key, rule.replaces ? change : mergeObject(present, change, rule.type));
  } else if (Array.isArray(present) && Array.isArray(change)) {
    put(merged, key, mergeList(present, change, memberRule(type, key)));
  } else {
    const added = withoutDirectives(change);
    if (added === undefined) delete merged[key];
    else put(merged, key, added);
  }
}

/** A value that the patch adds: null members and what carries a directive fall away. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isJsonObject(value)) return value;
  if (Object.hasOwn(value, PATCH)) return undefined;
  const kept: JsonObject = {};
  for (const key of Object.keys(value)) {
    const isDirective = key === RETAIN_KEYS || key.startsWith(ELEMENT_ORDER) || key.startsWith(DELETE_FROM);
    const member = isDirective || value[key] === null ? undefined : withoutDirectives(value[key]);
    if (member !== undefined) put(kept, key, member);
  }
  return kept;
}

function mergeList(
  original: readonly unknown[],
  patch: readonly unknown[],
  rule: MemberRule,
): readonly unknown[] {
  if (!rule.merges) return patch;
  const { mergeKey } = rule;
  if (original.length === 0 && patch.length === 0) return original;
  if (mergeKey === "") {
    return inOrder(deduplicate([...original, ...patch]), patch, original, mergeKey);
  }
  const changes: JsonObject[] = [];
  const removed = new Set<unknown>();
  let replace = false;
  for (const element of patch) {
    if (!isJsonObject(element)) identity(element, mergeKey);
    else if (!Object.hasOwn(element, PATCH)) changes.push(element);
    else if (element[PATCH] === "delete") removed.add(identity(element, mergeKey));
    else if (element[PATCH] === "replace") replace = true;
    else
      throw new PatchError("InvalidPatch", `unknown patch type: ${JSON.stringify(element[PATCH])} in list`);
  }
  if (replace) {
    positions(changes, mergeKey);
    return changes.map(withoutDirectives);
  }
  const kept = original.filter((element) => !removed.has(identity(element, mergeKey)));
  return inOrder(mergeElements(kept, changes, rule), changes, kept, mergeKey);
}

function mergeElements(
  original: readonly unknown[],
  changes: readonly JsonObject[],
  rule: MemberRule,
): unknown[] {
  const merged = [...original];
  const index = positions(merged, rule.mergeKey);
  for (const change of changes) {
    const key = identity(change, rule.mergeKey);
    const position = index.get(key);
    const present = position === undefined ? undefined : merged[position];
    if (position !== undefined && isJsonObject(present)) {
      merged[position] = mergeObject(present, change, rule.type);
    } else {
      index.set(key, merged.length);
      merged.push(withoutDirectives(change));
    }
  }
  return merged;
}

function orderedList(
  merged: JsonObject,
  field: string,
  change: unknown,
  order: unknown,
  rule: MemberRule,
): void {
  const wanted = list(order, ELEMENT_ORDER + field);
  const present = own(merged, field);
  const original = present === undefined || present === null ? undefined : list(present, field);
  if (change === null) {
    delete merged[field];
    return;
  }
  const patch = change === undefined ? undefined : list(change, field);
  if (original === undefined && patch === undefined) return;
  if (patch !== undefined) checkOrder(patch, wanted, rule.mergeKey, field);
  const result =
    patch === undefined || original === undefined
      ? (original ?? list(withoutDirectives(patch), field))
      : mergeList(original, patch, { ...rule, merges: true });
  put(
    merged,
    field,
    inOrder(result ?? [], wanted, orderAfter(original ?? [], patch ?? [], rule.mergeKey), rule.mergeKey),
  );
}

/**
 * The order that elements count as having had. As on the server, an added element takes the place in it that a
 * deleted one left free.
 */
function orderAfter(
  original: readonly unknown[],
  patch: readonly unknown[],
  mergeKey: string,
): readonly unknown[] {
  if (mergeKey === "") return original;
  const order = [...original];
  let length = order.length;
  const find = (key: unknown) =>
    order.slice(0, length).findIndex((element) => identity(element, mergeKey) === key);
  const added: unknown[] = [];
  for (const element of patch) {
    if (!isJsonObject(element) || !Object.hasOwn(element, PATCH)) added.push(element);
    else if (element[PATCH] === "replace") return original;
    else {
      const at = find(identity(element, mergeKey));
      if (at >= 0) order.copyWithin(at, at + 1, length--);
    }
  }
  for (const element of added) {
    if (find(identity(element, mergeKey)) >= 0) continue;
    if (length < order.length) order[length] = element;
    length++;
  }
  return order;
}

/** The elements of the patch must appear in the wanted order, or the sender meant something else. */
function checkOrder(
  patch: readonly unknown[],
  wanted: readonly unknown[],
  mergeKey: string,
  field: string,
): void {
  if (wanted.length === 0) return;
  let at = 0;
  for (const element of patch) {
    if (isJsonObject(element) && Object.hasOwn(element, PATCH)) continue;
    const key = identity(element, mergeKey);
    while (at < wanted.length && identity(wanted[at], mergeKey) !== key) at++;
    if (at >= wanted.length) {
      const message = `the order in patch list ${field} doesn't match ${ELEMENT_ORDER}${field}`;
      throw new PatchError("InvalidPatch", message);
    }
    at++;
  }
}

/**
 * Elements that `wanted` names in its order, the others in the order of `original`; where both are known to the
 * original its order decides which goes first, otherwise the wanted one does.
 */
function inOrder(
  merged: readonly unknown[],
  wanted: readonly unknown[],
  original: readonly unknown[],
  mergeKey: string,
): unknown[] {
  const wantedAt = positions(wanted, mergeKey);
  const originalAt = positions(original, mergeKey);
  const at = (map: Map<unknown, number>, element: unknown) => map.get(identity(element, mergeKey)) ?? -1;
  const named = merged.filter((element) => at(wantedAt, element) >= 0);
  const others = merged.filter((element) => at(wantedAt, element) < 0);
  settle(named, (element) => at(wantedAt, element));
  settle(others, (element) => at(originalAt, element));
  const result: unknown[] = [];
  let next = 0;
  for (const element of others) {
    const position = at(originalAt, element);
    while (next < named.length && !(position >= 0 && position < at(originalAt, named[next]))) {
      result.push(named[next++]);
    }
    result.push(element);
  }
  return [...result, ...named.slice(next)];
}

/** Sorts by known positions; an element without one (-1) goes before those that stood before it, as on the server. */
function settle(list: unknown[], position: (element: unknown) => number): void {
  for (let end = 1; end < list.length; end++) {
    for (let at = end; at > 0; at--) {
      const before = list[at - 1];
      const element = list[at];
      const [left, right] = [position(element), position(before)];
      if (left >= 0 && right >= 0 && left >= right) break;
      list[at - 1] = element;
      list[at] = before;
    }
  }
}

/** Each value once. The last one fills the gap of a repeated one: the server's order, which later steps see. */
function deduplicate(values: readonly unknown[]): unknown[] {
  const list = [...values];
  for (let first = 0; first < list.length; first++) {
    for (let at = first + 1; at < list.length; at++) {
      if (list[at] !== list[first]) continue;
      list[at] = list.at(-1);
      list.pop();
      at--;
    }
  }
  return list;
}
