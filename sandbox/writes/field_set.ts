/**
 * Sets of field paths in the form that managedFields carries (FieldsV1): nested objects whose keys are
 * `f:<member>`, `k:<keys of a list entry>`, `v:<entry of a set>`; `{}` is a member of the set, `"."` marks
 * a member that has members below it.
 */
import { goJson, jsonEqual } from "../../kube/core/index.ts";
import { type Fields, isFields } from "../json.ts";
import type { Shape } from "../resources/shape.ts";

export type FieldSet = { [element: string]: FieldSet };

const self = ".";

export function isMember(node: FieldSet): boolean {
  return self in node || Object.keys(node).length === 0;
}

export function isEmptySet(set: FieldSet): boolean {
  return Object.keys(set).length === 0;
}

/** Reads a stored set; anything malformed in it is left out. */
export function readFieldSet(value: unknown): FieldSet {
  const set: FieldSet = {};
  if (!isFields(value)) return set;
  for (const [element, below] of Object.entries(value)) set[element] = readFieldSet(below);
  return set;
}

/** The set with every node that has members below it as a member itself. */
export function withParents(set: FieldSet): FieldSet {
  const full: FieldSet = {};
  for (const [element, node] of Object.entries(set)) {
    full[element] = isEmptySet(node) || element === self ? node : { [self]: {}, ...withParents(node) };
  }
  return full;
}

export function unionOf(left: FieldSet, right: FieldSet): FieldSet {
  const merged: FieldSet = { ...left };
  for (const [element, node] of Object.entries(right)) {
    const present = merged[element];
    merged[element] = present === undefined ? node : unionOfNodes(present, node);
  }
  return merged;
}

/** Inside a set an empty node is a member, so uniting it with one that has members below needs the mark. */
function unionOfNodes(left: FieldSet, right: FieldSet): FieldSet {
  const merged = unionOf(left, right);
  if (Object.keys(merged).length > 0 && (isMember(left) || isMember(right))) merged[self] = {};
  return merged;
}

/** Members of `left` that are not members of `right`. */
export function differenceOf(left: FieldSet, right: FieldSet): FieldSet {
  return walkSets(left, right, (inLeft, inRight) => inLeft && !inRight);
}

/** Members of both. */
export function intersectionOf(left: FieldSet, right: FieldSet): FieldSet {
  return walkSets(left, right, (inLeft, inRight) => inLeft && inRight);
}

function walkSets(
  left: FieldSet,
  right: FieldSet,
  keep: (inLeft: boolean, inRight: boolean) => boolean,
): FieldSet {
  const kept: FieldSet = {};
  for (const [element, node] of Object.entries(left)) {
    if (element === self) continue;
    const other = right[element];
    const below = walkSets(node, other ?? {}, keep);
    const member = keep(isMember(node), other !== undefined && isMember(other));
    if (isEmptySet(below)) {
      if (member) kept[element] = {};
    } else kept[element] = member ? { [self]: {}, ...below } : below;
  }
  return kept;
}

/** Each member as the server prints it: `.spec.containers[name="a"].image`. */
export function pathsOf(set: FieldSet, prefix = ""): string[] {
  const paths: string[] = [];
  for (const [element, node] of Object.entries(set)) {
    if (element === self) continue;
    const path = `${prefix}${elementText(element)}`;
    if (isMember(node)) paths.push(path);
    paths.push(...pathsOf(node, path));
  }
  return paths;
}

function elementText(element: string): string {
  const rest = element.slice(2);
  if (element.startsWith("f:")) return `.${rest}`;
  if (element.startsWith("v:")) return `[=${rest}]`;
  if (!element.startsWith("k:")) return `[${rest}]`;
  const keys: unknown = JSON.parse(rest);
  const pairs = isFields(keys) ? Object.entries(keys) : [];
  return `[${pairs.map(([key, value]) => `${key}=${goJson(value)}`).join(",")}]`;
}

/** The element of an entry in a list that is a map or a set. */
export function entryElement(shape: Shape, entry: unknown): string | undefined {
  if (shape.listType === "set") return `v:${goJson(entry)}`;
  if (!isFields(entry)) return undefined;
  const keys: Fields = {};
  for (const key of shape.listKeys) {
    const value = entry[key] ?? shape.items?.member(key)?.raw["default"];
    if (value !== undefined) keys[key] = value;
  }
  return `k:${goJson(keys, { sortKeys: true })}`;
}

/** True where the parts of a value belong to different owners. */
export function isGranular(value: unknown, shape: Shape | undefined): boolean {
  if (isFields(value)) return shape === undefined || !shape.atomicMap;
  return Array.isArray(value) && shape !== undefined && shape.listType !== "atomic";
}

export function memberShape(shape: Shape | undefined, name: string): Shape | undefined {
  return shape?.member(name) ?? shape?.values;
}

/** The fields that an applied configuration names; `everything` adds the inner nodes too. */
export function fieldsOfValue(value: unknown, shape: Shape | undefined, everything = false): FieldSet {
  const set: FieldSet = {};
  if (!isGranular(value, shape)) return set;
  if (isFields(value)) {
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      const below = fieldsOfValue(member, memberShape(shape, name), everything);
      set[`f:${name}`] = everything && !isEmptySet(below) ? { [self]: {}, ...below } : below;
    }
  } else if (Array.isArray(value) && shape !== undefined) {
    for (const entry of value) {
      const element = entryElement(shape, entry);
      if (element === undefined) continue;
      const below = shape.listType === "map" ? fieldsOfValue(entry, shape.items, everything) : {};
      set[element] = isEmptySet(below) ? below : { [self]: {}, ...below };
    }
  }
  return set;
}

interface Difference {
  /** Added or changed. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** What a write changed. */
export function compareValues(before: unknown, after: unknown, shape: Shape | undefined): Difference {
  const changed: FieldSet = {};
  const removed: FieldSet = {};
  if (before === after || !isGranular(after, shape)) return { changed, removed };
  const old = membersOf(before, shape);
  const fresh = membersOf(after, shape);
  for (const [element, member] of fresh) {
    const previous = old.get(element);
    if (previous === undefined) changed[element] = addedFields(member.value, member.shape, element);
    else if (isGranular(member.value, member.shape) && isGranular(previous.value, member.shape)) {
      const inner = compareValues(previous.value, member.value, member.shape);
      if (!isEmptySet(inner.changed)) changed[element] = inner.changed;
      if (!isEmptySet(inner.removed)) removed[element] = inner.removed;
    } else if (!jsonEqual(previous.value, member.value)) {
      changed[element] = addedFields(member.value, member.shape, element);
    }
  }
  for (const [element, member] of old) {
    if (fresh.has(element)) continue;
    const below = fieldsOfValue(member.value, member.shape, true);
    removed[element] = isEmptySet(below) ? {} : { [self]: {}, ...below };
  }
  return { changed, removed };
}

/** Parts that every object of the type has are not themselves something that a writer added. */
function addedFields(value: unknown, shape: Shape | undefined, element: string): FieldSet {
  const below = addedMembers(value, shape);
  if (isEmptySet(below)) return {};
  const always = element === "f:metadata" || (element.startsWith("f:") && isFields(shape?.raw["default"]));
  return always ? below : { [self]: {}, ...below };
}

function addedMembers(value: unknown, shape: Shape | undefined): FieldSet {
  const set: FieldSet = {};
  if (!isGranular(value, shape)) return set;
  for (const [element, member] of membersOf(value, shape)) {
    const added = addedFields(member.value, member.shape, element);
    const required = element.startsWith("f:") && (shape?.required.includes(element.slice(2)) ?? false);
    if (required && self in added) delete added[self];
    set[element] = added;
  }
  return set;
}

interface Member {
  readonly value: unknown;
  readonly shape: Shape | undefined;
}

function membersOf(value: unknown, shape: Shape | undefined): Map<string, Member> {
  const members = new Map<string, Member>();
  if (isFields(value)) {
    for (const [name, member] of Object.entries(value)) {
      if (member !== undefined) members.set(`f:${name}`, { value: member, shape: memberShape(shape, name) });
    }
  } else if (Array.isArray(value) && shape !== undefined) {
    for (const entry of value) {
      const element = entryElement(shape, entry);
      if (element !== undefined) members.set(element, { value: entry, shape: shape.items });
    }
  }
  return members;
}
