/** Server-side apply: merging a configuration under field ownership. */
import { cloneJson, counted, formatTime, required } from "../../kube/core/index.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import { notAllowed } from "../authorization/refusal.ts";
import type { StoredObject } from "../cluster.ts";
import { ApiError, badRequest, conflict, invalid, notFound } from "../http/api_error.ts";
import { expectedOf, typedObject } from "../http/body.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Target } from "../http/target.ts";
import { type Fields, fieldsAt, isFields } from "../json.ts";
import { normalize } from "../resources/normal_form.ts";
import type { Shape } from "../resources/shape.ts";
import type { Revision } from "../revision.ts";
import { type CreateParts, createObject } from "./create.ts";
import {
  compareValues,
  differenceOf,
  type FieldSet,
  fieldsOfValue,
  intersectionOf,
  isEmptySet,
  pathsOf,
  withParents,
} from "./field_set.ts";
import { ownedParts, readEntries, writeEntries } from "./managed_fields.ts";
import { mergeValues, withoutFields } from "./merge.ts";
import type { ManagedEntry, WriteRequest } from "./request.ts";
import { updateObject } from "./update.ts";

export async function applyConfiguration(
  world: CreateParts,
  exchange: Exchange,
  target: Target,
  request: WriteRequest,
  body: Fields,
): Promise<Revision> {
  const manager = exchange.query.get("fieldManager") ?? "";
  checkApply(exchange, target, body, manager);
  const configuration = typedObject(exchange, body, expectedOf(target.served), [], { asWritten: true });
  const applying: Applying = {
    request,
    manager,
    force: exchange.query.get("force") === "true",
    shape: target.served.shape,
    now: formatTime(world.clock.now()),
  };
  const { table } = target.served.resource;
  if (table.get(target.namespace, target.name) === undefined) {
    if (target.subresource !== "") throw notFound(target.served, target.name);
    checkCreation(world.authorizer, request);
    return createApplied(world, applying, configuration);
  }
  return updateObject(world, request, async (current) => merged(applying, current, configuration));
}

/** An apply that creates needs the right to do so besides that to patch. */
function checkCreation(authorizer: Authorizer, { served, user, namespace, name }: WriteRequest): void {
  const { group, plural: resource } = served;
  const attributes = { user, verb: "create", group, resource, subresource: "", namespace, name };
  const { allowed, reason } = authorizer.authorize(attributes);
  if (!allowed) throw notAllowed(attributes, reason);
}

interface Applying {
  readonly request: WriteRequest;
  readonly manager: string;
  readonly force: boolean;
  readonly shape: Shape;
  readonly now: string;
}

function checkApply(exchange: Exchange, target: Target, body: Fields, manager: string): void {
  if (manager === "") {
    const missing = required("fieldManager", "is required for apply patch");
    throw invalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [missing]);
  }
  if (exchange.query.has("force") && !/^(true|false|1|0)$/.test(exchange.query.get("force") ?? "")) {
    throw badRequest("force must be a boolean");
  }
  const { managedFields, name } = fieldsAt(body, "metadata");
  if (managedFields !== undefined) throw badRequest("metadata.managedFields must be nil");
  if (name !== undefined && name !== "" && name !== target.name) {
    throw badRequest(
      `the name of the object (${String(name)}) does not match the name on the URL (${target.name})`,
    );
  }
}

async function createApplied(
  world: CreateParts,
  applying: Applying,
  configuration: StoredObject,
): Promise<Revision> {
  const { request, shape } = applying;
  const draft = cloneJson(configuration);
  if (!request.served.resource.custom) normalize(draft);
  draft.metadata.name = request.name;
  if ((draft.metadata.uid ?? "") !== "") {
    throw conflict(
      request.served,
      request.name,
      `uid mismatch: the provided object specified uid ${draft.metadata.uid}, and no existing object was found`,
    );
  }
  const entry = appliedEntry(applying, fieldsOfValue(ownedParts(configuration), shape));
  return createObject(world, { ...request, applied: { entries: [entry] } }, draft);
}

function appliedEntry(applying: Applying, fields: FieldSet): ManagedEntry {
  return {
    manager: applying.manager,
    operation: "Apply",
    apiVersion: applying.request.served.apiVersion,
    time: applying.now,
    subresource: applying.request.subresource,
    fields,
  };
}

async function merged(
  applying: Applying,
  current: StoredObject,
  configuration: StoredObject,
): Promise<{ draft: StoredObject; apply: { entries: ManagedEntry[] } }> {
  const { shape } = applying;
  const wanted = fieldsOfValue(ownedParts(configuration), shape);
  const known = ownersOf(applying, current);
  const own = known.find((entry) => isOwn(entry, applying));
  const others = known.filter((entry) => !isOwn(entry, applying));
  const mergedObject = mergeValues(current, withoutSystem(configuration), shape);
  const givenUp = othersRemoved(differenceOf(own?.fields ?? {}, withParents(wanted)), others);
  const pruned = withoutFields(mergedObject, givenUp, shape);
  const draft: StoredObject = { ...(isFields(pruned) ? pruned : {}), metadata: metadataOf(pruned, current) };
  const { changed, removed } = compareValues(ownedParts(current), ownedParts(draft), shape);
  const kept = settleConflicts(applying, others, changed);
  const remaining = kept.map((entry) => ({ ...entry, fields: differenceOf(entry.fields, removed) }));
  const mine = appliedEntry(applying, wanted);
  const same =
    own !== undefined &&
    isEmptySet(changed) &&
    isEmptySet(removed) &&
    JSON.stringify(own.fields) === JSON.stringify(wanted);
  const entries = [...remaining, same ? { ...mine, time: own.time } : mine];
  draft.metadata.resourceVersion = configuration.metadata.resourceVersion ?? "";
  if (configuration.metadata.uid !== undefined) draft.metadata.uid = configuration.metadata.uid;
  writeEntries(draft, entries);
  const copy = cloneJson(draft);
  if (!applying.request.served.resource.custom) normalize(copy);
  return { draft: copy, apply: { entries } };
}

function metadataOf(value: unknown, current: StoredObject): StoredObject["metadata"] {
  return { ...fieldsAt(value, "metadata"), name: current.metadata.name ?? "" };
}

function withoutSystem(configuration: StoredObject): Fields {
  return { apiVersion: configuration.apiVersion, kind: configuration.kind, ...ownedParts(configuration) };
}

function isOwn(entry: ManagedEntry, applying: Applying): boolean {
  return (
    entry.manager === applying.manager &&
    entry.operation === "Apply" &&
    entry.subresource === applying.request.subresource
  );
}

/** Objects that nobody tracked so far belong to whoever wrote them before the first apply. */
function ownersOf(applying: Applying, current: StoredObject): ManagedEntry[] {
  const entries = readEntries(current);
  if (entries.length > 0) return entries;
  return [
    {
      manager: "before-first-apply",
      operation: "Update",
      apiVersion: applying.request.served.apiVersion,
      time: applying.now,
      subresource: "",
      fields: fieldsOfValue(ownedParts(current), applying.shape),
    },
  ];
}

/** Of the fields that a manager gives up, those that nobody else owns. */
function othersRemoved(givenUp: FieldSet, others: readonly ManagedEntry[]): FieldSet {
  let left = givenUp;
  for (const entry of others) left = differenceOf(left, withParents(entry.fields));
  return left;
}

function settleConflicts(
  applying: Applying,
  others: readonly ManagedEntry[],
  changed: FieldSet,
): ManagedEntry[] {
  const conflicts = others
    .map((entry) => ({ entry, fields: intersectionOf(entry.fields, changed) }))
    .filter(({ fields }) => !isEmptySet(fields));
  if (conflicts.length > 0 && !applying.force) throw applyConflict(conflicts);
  return others.map((entry) => {
    const lost = conflicts.find((found) => found.entry === entry);
    return lost === undefined ? entry : { ...entry, fields: differenceOf(entry.fields, lost.fields) };
  });
}

function applyConflict(conflicts: readonly { entry: ManagedEntry; fields: FieldSet }[]): ApiError {
  const causes = conflicts.flatMap(({ entry, fields }) =>
    pathsOf(fields).map((field) => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${ownerText(entry)}`,
      field,
    })),
  );
  const count = counted(causes.length, "conflict");
  return new ApiError(409, "Conflict", `Apply failed with ${count}: ${conflictText(causes)}`, { causes });
}

function ownerText(entry: ManagedEntry): string {
  const below = entry.subresource === "" ? "" : ` with subresource ${JSON.stringify(entry.subresource)}`;
  const version = entry.operation === "Apply" ? "" : ` using ${entry.apiVersion}`;
  return `${JSON.stringify(entry.manager)}${below}${version}`;
}

function conflictText(causes: readonly { message: string; field: string }[]): string {
  const [only] = causes;
  if (causes.length === 1 && only !== undefined) return `${only.message}: ${only.field}`;
  const byOwner = new Map<string, string[]>();
  for (const { message, field } of causes) byOwner.set(message, [...(byOwner.get(message) ?? []), field]);
  return [...byOwner]
    .map(([message, fields]) => `conflicts${message.slice("conflict".length)}:\n- ${fields.join("\n- ")}`)
    .join("\n");
}
