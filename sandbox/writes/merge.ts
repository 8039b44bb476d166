/** Merging an applied configuration into the live object, and taking out what its manager gave up. */
import { cloneJson } from "../../kube/core/index.ts";
import { type Fields, isFields } from "../json.ts";
import type { Shape } from "../resources/shape.ts";
import { entryElement, type FieldSet, isEmptySet, isGranular, isMember, memberShape } from "./field_set.ts";

export function mergeValues(live: unknown, wanted: unknown, shape: Shape | undefined): unknown {
  if (!isGranular(wanted, shape) || live === undefined || live === null) return cloneJson<unknown>(wanted);
  if (isFields(wanted)) {
    const merged: Fields = isFields(live) ? { ...live } : {};
    for (const [name, value] of Object.entries(wanted)) {
      merged[name] = mergeValues(merged[name], value, memberShape(shape, name));
    }
    return merged;
  }
  if (Array.isArray(wanted) && Array.isArray(live) && shape !== undefined)
    return mergeLists(live, wanted, shape);
  return cloneJson<unknown>(wanted);
}

/** Entries that both have come in the order of the configuration; others stay where they are among them. */
function mergeLists(live: readonly unknown[], wanted: readonly unknown[], shape: Shape): unknown[] {
  const liveEntries = new Map(live.map((entry) => [entryElement(shape, entry), entry] as const));
  const wantedKeys = new Set(wanted.map((entry) => entryElement(shape, entry)));
  const merged: unknown[] = [];
  const queue = live.map((entry) => ({ key: entryElement(shape, entry), entry }));
  const takeForeign = (): void => {
    for (let next = queue[0]; next !== undefined && !wantedKeys.has(next.key); next = queue[0]) {
      merged.push(next.entry);
      queue.shift();
    }
  };
  for (const entry of wanted) {
    takeForeign();
    const key = entryElement(shape, entry);
    const at = queue.findIndex((item) => item.key === key);
    if (at >= 0) queue.splice(at, 1);
    merged.push(
      shape.listType === "map" ? mergeValues(liveEntries.get(key), entry, shape.items) : cloneJson(entry),
    );
  }
  takeForeign();
  return [...merged, ...queue.filter((item) => !wantedKeys.has(item.key)).map((item) => item.entry)];
}

/** The value without the members of `gone`. */
export function withoutFields(value: unknown, gone: FieldSet, shape: Shape | undefined): unknown {
  if (isEmptySet(gone)) return value;
  if (isFields(value)) {
    const kept: Fields = {};
    for (const [name, member] of Object.entries(value)) {
      const node = gone[`f:${name}`];
      if (node === undefined) kept[name] = member;
      else if (!isMember(node)) kept[name] = withoutFields(member, node, memberShape(shape, name));
    }
    return kept;
  }
  if (Array.isArray(value) && shape !== undefined && shape.listType !== "atomic") {
    const kept: unknown[] = [];
    for (const entry of value) {
      const node = gone[entryElement(shape, entry) ?? ""];
      if (node === undefined) kept.push(entry);
      else if (!isMember(node)) kept.push(withoutFields(entry, node, shape.items));
    }
    return kept;
  }
  return value;
}
