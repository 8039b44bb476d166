/** `metadata.managedFields`: who last wrote which field. Entries are per manager, operation, version, subresource. */
import { formatTime } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { type Fields, isFields, textAt } from "../json.ts";
import {
  compareValues,
  differenceOf,
  type FieldSet,
  isEmptySet,
  readFieldSet,
  unionOf,
} from "./field_set.ts";
import type { ApplyRecord, ManagedEntry, WriteRequest } from "./request.ts";
import { workingVersion } from "./working.ts";

const notOwned: readonly string[] = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "generation",
  "resourceVersion",
  "selfLink",
  "managedFields",
];

/** The object without what nobody owns. */
export function ownedParts(object: Fields): Fields {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = object;
  if (!isFields(metadata)) return rest;
  const kept = Object.fromEntries(Object.entries(metadata).filter(([name]) => !notOwned.includes(name)));
  return Object.keys(kept).length === 0 ? rest : { metadata: kept, ...rest };
}

export function readEntries(object: StoredObject): ManagedEntry[] {
  const entries: ManagedEntry[] = [];
  for (const entry of object.metadata.managedFields ?? []) {
    if (!isFields(entry)) continue;
    entries.push({
      manager: textAt(entry, "manager"),
      operation: entry["operation"] === "Apply" ? "Apply" : "Update",
      apiVersion: textAt(entry, "apiVersion"),
      time: textAt(entry, "time"),
      subresource: textAt(entry, "subresource"),
      fields: readFieldSet(entry["fieldsV1"]),
    });
  }
  return entries;
}

export function writeEntries(object: StoredObject, entries: readonly ManagedEntry[]): void {
  const kept = entries.filter((entry) => !isEmptySet(entry.fields)).sort(byOperationAndTime);
  if (kept.length === 0) {
    delete object.metadata.managedFields;
    return;
  }
  object.metadata.managedFields = kept.map((entry) => ({
    manager: entry.manager,
    operation: entry.operation,
    apiVersion: entry.apiVersion,
    time: entry.time,
    fieldsType: "FieldsV1",
    fieldsV1: entry.fields,
    ...(entry.subresource === "" ? {} : { subresource: entry.subresource }),
  }));
}

function byOperationAndTime(left: ManagedEntry, right: ManagedEntry): number {
  if (left.operation !== right.operation) return left.operation === "Apply" ? -1 : 1;
  if (left.time !== right.time) return left.time < right.time ? -1 : 1;
  return left.manager < right.manager ? -1 : left.manager > right.manager ? 1 : 0;
}

/**
 * Records a write into `draft`; `current` is absent at creation. With `apply`, the entries that it decided stand,
 * except for what admission changed afterwards.
 */
export function recordWrite(
  draft: StoredObject,
  current: StoredObject | undefined,
  request: WriteRequest,
  now: number,
  apply?: ApplyRecord,
): void {
  if (apply !== undefined) {
    writeEntries(draft, apply.entries);
    return;
  }
  const entries = current === undefined ? [] : presentEntries(draft, current);
  if (current !== undefined && entries.length === 0) {
    // What is not tracked stays so until somebody applies.
    writeEntries(draft, entries);
    return;
  }
  const apiVersion = workingVersion(request.served);
  const before: Fields = current === undefined ? {} : ownedParts(current);
  const { hasStatus } = request.served.resource.strategy;
  const ownsStatus = !hasStatus || request.subresource === "status";
  const after = ownedParts(draft);
  // Status in a write to the object itself is not stored, so nobody owns it.
  if (!ownsStatus) delete after["status"];
  if (!ownsStatus) delete before["status"];
  const { changed, removed } = compareValues(before, after, request.served.shape);
  const known = entries.filter((entry) => !isSame(entry, request, apiVersion));
  const own = entries.find((entry) => isSame(entry, request, apiVersion));
  const others = known.map((entry) => ({
    ...entry,
    fields: differenceOf(differenceOf(entry.fields, changed), removed),
  }));
  const fields = unionOf(differenceOf(own?.fields ?? {}, removed), withoutBareParts(changed));
  const touched = !isEmptySet(changed);
  others.push({
    manager: request.fieldManager,
    operation: "Update",
    apiVersion,
    time: touched || own === undefined ? formatTime(now) : own.time,
    subresource: request.subresource,
    fields,
  });
  writeEntries(draft, others);
}

/** spec, status and metadata as a whole belong to nobody. */
function withoutBareParts(changed: FieldSet): FieldSet {
  const kept: FieldSet = {};
  for (const [element, node] of Object.entries(changed)) {
    const { ".": _self, ...below } = node;
    kept[element] = Object.keys(below).length === 0 ? node : below;
  }
  return kept;
}

function isSame(entry: ManagedEntry, request: WriteRequest, apiVersion: string): boolean {
  return (
    entry.manager === request.fieldManager &&
    entry.operation === "Update" &&
    entry.apiVersion === apiVersion &&
    entry.subresource === request.subresource
  );
}

/** A client may hand over fields to other managers, or empty the list with [] or [{}]. */
function presentEntries(draft: StoredObject, current: StoredObject): ManagedEntry[] {
  if (isWiped(draft)) return [];
  return draft.metadata.managedFields === undefined ? readEntries(current) : readEntries(draft);
}

function isWiped(draft: StoredObject): boolean {
  const entries = draft.metadata.managedFields;
  if (entries === undefined) return false;
  const [only] = entries;
  return entries.length === 0 || (entries.length === 1 && isFields(only) && Object.keys(only).length === 0);
}
