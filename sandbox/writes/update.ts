/** Changing objects: PUT and every kind of PATCH go through here. */
import { cloneJson, jsonEqual } from "../../kube/core/index.ts";
import { checkEscalation } from "../authorization/escalation.ts";
import type { StoredObject } from "../cluster.ts";
import { badRequest, conflict, invalid, modifiedMeanwhile, notFound } from "../http/api_error.ts";
import { Revision } from "../revision.ts";
import { type World, type WriteParts, writeContext } from "../world.ts";
import { admitPlainly, applyDefaults, ordered } from "./create.ts";
import { recordWrite } from "./managed_fields.ts";
import { restoreSystemMetadata, validateMetadata, validateMetadataUpdate } from "./metadata.ts";
import type { ApplyRecord, WriteRequest } from "./request.ts";
import { convertObject, inVersion, workingVersion } from "./working.ts";

/** How often a change is made again on top of what others wrote meanwhile. */
const attempts = 5;

/** What a change of an object needs of the sandbox. */
export type UpdateParts = Pick<World, "admission" | "authorizer" | "clock" | "random" | "registry">;

/** The wanted state, made from the current one; may be called again. `apply` is set by server-side apply. */
export type Change = (current: StoredObject) => Promise<{ draft: StoredObject; apply?: ApplyRecord }>;

export async function updateObject(
  world: UpdateParts,
  request: WriteRequest,
  change: Change,
): Promise<Revision> {
  const { served } = request;
  for (let attempt = 1; ; attempt++) {
    const before = served.resource.table.get(request.namespace, request.name);
    if (before === undefined) throw notFound(served, request.name);
    const [view] = await inVersion([before], served, workingVersion(served));
    const current = view?.object ?? before.object;
    const { draft, apply } = await change(current);
    checkPreconditions(request, draft, current);
    const ready = await finishUpdate(world, request, draft, current, apply);
    if (isUnchanged(ready, current)) return before;
    const stored = await convertObject(ready, served, served.resource.storedApiVersion);
    if (served.resource.table.get(request.namespace, request.name) !== before) {
      if (attempt < attempts) continue;
      throw conflict(served, request.name, modifiedMeanwhile);
    }
    if (request.dryRun) return new Revision(stored, before.version);
    return storeUpdated(request, stored);
  }
}

function checkPreconditions(request: WriteRequest, draft: StoredObject, current: StoredObject): void {
  const { served, name } = request;
  const { name: given = "", uid = "", resourceVersion = "" } = draft.metadata;
  if (given !== "" && given !== name) {
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  }
  if (uid !== "" && uid !== current.metadata.uid) {
    throw conflict(
      served,
      name,
      `StorageError: invalid object, Code: 4, Key: ${storageKey(request)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid ?? ""}`,
    );
  }
  if (resourceVersion !== "" && resourceVersion !== current.metadata.resourceVersion) {
    throw conflict(served, name, modifiedMeanwhile);
  }
}

/** Where a real server would keep the object in etcd; it names that place in errors. */
function storageKey({ served, namespace, name }: WriteRequest): string {
  const group = served.resource.custom ? `${served.group}/` : "";
  return `/registry/${group}${served.plural}/${namespace === "" ? "" : `${namespace}/`}${name}`;
}

async function finishUpdate(
  world: UpdateParts,
  request: WriteRequest,
  draft: StoredObject,
  current: StoredObject,
  apply: ApplyRecord | undefined,
): Promise<StoredObject> {
  restoreSystemMetadata(draft, current);
  restoreOtherParts(request, draft, current);
  applyDefaults(world, request, draft);
  recordWrite(draft, current, request, world.clock.now(), apply);
  admitPlainly(world, request, draft);
  const review = { operation: "UPDATE", request, oldObject: current } as const;
  const mutated = await world.admission.mutate({ ...review, object: draft });
  applyDefaults(world, request, mutated);
  restoreSystemMetadata(mutated, current);
  checkEscalation(world.authorizer, request, mutated, current);
  const ready = prepareUpdate(world, request, mutated, current);
  await world.admission.validate({ ...review, object: ready });
  ready.metadata.resourceVersion = current.metadata.resourceVersion;
  return ready;
}

/** A write to the object leaves its status alone, one to the status everything else. */
function restoreOtherParts(request: WriteRequest, draft: StoredObject, current: StoredObject): void {
  const { strategy } = request.served.resource;
  if (request.subresource === "status") {
    for (const name of Object.keys(draft)) {
      if (!["status", "metadata", "kind", "apiVersion"].includes(name)) delete draft[name];
    }
    for (const name of Object.keys(current)) {
      if (name !== "status" && name !== "metadata") draft[name] = cloneJson(current[name]);
    }
    const { managedFields } = draft.metadata;
    if (strategy.statusMetadata === "none")
      draft.metadata = { ...cloneJson(current.metadata), managedFields };
    if (strategy.statusMetadata === "labels") {
      const { ownerReferences: _, ...metadata } = draft.metadata;
      const { ownerReferences, finalizers } = cloneJson(current.metadata);
      // A member that is present but undefined would be refused by the next typed read.
      draft.metadata = {
        ...(finalizers === undefined ? {} : { finalizers }),
        ...metadata,
        ...(ownerReferences === undefined ? {} : { ownerReferences }),
      };
    }
  } else if (strategy.hasStatus && !ownStatusWriters.has(request.subresource)) {
    if (current["status"] === undefined) delete draft["status"];
    else draft["status"] = cloneJson(current["status"]);
  }
}

/** Subresources whose writes come from the server itself. */
const ownStatusWriters: ReadonlySet<string> = new Set(["binding", "eviction", "resize"]);

function prepareUpdate(
  world: WriteParts,
  request: WriteRequest,
  draft: StoredObject,
  current: StoredObject,
): StoredObject {
  const { served } = request;
  const { strategy } = served.resource;
  const context = writeContext(world, request.warnings);
  const status = request.subresource === "status";
  if (status) strategy.prepareStatus?.(draft, current, context);
  else strategy.prepareUpdate?.(draft, current, context, request.subresource);
  bumpGeneration(request, draft, current);
  const errors = [...validateMetadata(draft, served), ...validateMetadataUpdate(draft, current)];
  const own = status
    ? strategy.validateStatus?.(draft, current, context)
    : strategy.validateUpdate?.(draft, current, context, request.subresource);
  errors.push(...(own ?? []));
  if (errors.length > 0) throw invalid(served, request.name, errors);
  return ordered(draft);
}

function bumpGeneration(request: WriteRequest, draft: StoredObject, current: StoredObject): void {
  const { generationOf } = request.served.resource.strategy;
  if (generationOf === undefined) return;
  const before = current.metadata.generation ?? 0;
  const changed = !jsonEqual(generationOf(draft), generationOf(current));
  draft.metadata.generation = changed ? before + 1 : before;
}

/** A write that changes nothing is not stored; times of managed fields alone do not count. */
function isUnchanged(draft: StoredObject, current: StoredObject): boolean {
  return jsonEqual(withoutTimes(draft), withoutTimes(current));
}

function withoutTimes(object: StoredObject): unknown {
  const managedFields = object.metadata.managedFields?.map((entry) =>
    typeof entry === "object" && entry !== null ? { ...entry, time: undefined } : entry,
  );
  return { ...object, metadata: { ...object.metadata, managedFields } };
}

/** An object that was only waiting for its finalizers goes with the last of them. */
function storeUpdated(request: WriteRequest, object: StoredObject): Revision {
  const { table } = request.served.resource;
  if (isFinallyDeleted(object)) {
    const removed = table.remove(request.namespace, request.name, object);
    if (removed === undefined) throw notFound(request.served, request.name);
    return removed;
  }
  return table.put(object);
}

function isFinallyDeleted(object: StoredObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata;
  if (deletionTimestamp === undefined || (finalizers?.length ?? 0) > 0) return false;
  if (object.kind === "Namespace" && object.apiVersion === "v1") return false;
  return (deletionGracePeriodSeconds ?? 0) === 0;
}

/** Components inside the process change any part of an object, without webhooks. Undefined when it is gone. */
export function updateAtOnce(
  request: WriteRequest,
  change: (draft: StoredObject) => void,
): Revision | undefined {
  const { table } = request.served.resource;
  const before = table.get(request.namespace, request.name);
  if (before === undefined) return undefined;
  const draft = cloneJson(before.object);
  change(draft);
  restoreSystemMetadata(draft, before.object);
  bumpGeneration(request, draft, before.object);
  draft.metadata.resourceVersion = before.object.metadata.resourceVersion;
  if (jsonEqual(draft, before.object)) return before;
  return storeUpdated(request, draft);
}
