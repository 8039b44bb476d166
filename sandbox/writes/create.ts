/** Creating objects. */
import { cloneJson, formatTime, type ObjectMeta } from "../../kube/core/index.ts";
import { checkPodClasses } from "../admission/pod_classes.ts";
import { checkPodQuota } from "../admission/quota.ts";
import { checkServiceAccount } from "../admission/service_account.ts";
import { checkEscalation } from "../authorization/escalation.ts";
import type { StoredObject } from "../cluster.ts";
import { ApiError, alreadyExists, badRequest, forbidden, invalid, notFound } from "../http/api_error.ts";
import { nameSuffix, randomUid } from "../random.ts";
import { normalize } from "../resources/normal_form.ts";
import type { Registry } from "../resources/registry.ts";
import { Revision } from "../revision.ts";
import type { Storage } from "../storage.ts";
import { type World, type WriteParts, writeContext } from "../world.ts";
import { recordWrite } from "./managed_fields.ts";
import { validateMetadata } from "./metadata.ts";
import type { WriteRequest } from "./request.ts";
import { convertObject, workingVersion } from "./working.ts";

/** Longest name that a generateName can grow to. */
const generatedLimit = 63;

/** What the creation of an object needs of the sandbox. */
export type CreateParts = Pick<
  World,
  "admission" | "authorizer" | "clock" | "random" | "registry" | "storage"
>;

/** `draft` is decoded and belongs to the caller no more. */
export async function createObject(
  world: CreateParts,
  request: WriteRequest,
  draft: StoredObject,
): Promise<Revision> {
  const { served } = request;
  placeInNamespace(world.registry, request, draft);
  const working = await convertObject(draft, served, workingVersion(served));
  applyDefaults(world, request, working);
  recordWrite(working, undefined, request, world.clock.now(), request.applied);
  admitPlainly(world, request, working);
  checkServiceAccount(world.registry, request, working);
  checkPodClasses(world.registry, request, working);
  const review = { operation: "CREATE", request, oldObject: undefined } as const;
  const mutated = await world.admission.mutate({ ...review, object: working });
  applyDefaults(world, request, mutated);
  checkEscalation(world.authorizer, request, mutated, undefined);
  checkNamespace(world.registry, request);
  const ready = prepareCreate(world, request, mutated);
  await world.admission.validate({ ...review, object: ready });
  const stored = await convertObject(ready, served, served.resource.storedApiVersion);
  checkNamespace(world.registry, request);
  checkPodQuota(world.registry, request, stored.metadata.name ?? "");
  return storeCreated(world.storage, request, stored);
}

/** The same without webhooks, at once: for components inside the process. `object` is copied. */
export function createAtOnce(
  world: Omit<CreateParts, "admission" | "authorizer">,
  request: WriteRequest,
  object: StoredObject,
): Revision {
  const draft = cloneJson(object);
  placeInNamespace(world.registry, request, draft);
  if (!request.served.resource.custom) normalize(draft);
  applyDefaults(world, request, draft);
  admitPlainly(world, request, draft);
  return storeCreated(world.storage, request, prepareCreate(world, request, draft));
}

export const otherNamespace =
  "the namespace of the provided object does not match the namespace sent on the request";

function placeInNamespace(registry: Registry, request: WriteRequest, draft: StoredObject): void {
  const { served, namespace } = request;
  draft.apiVersion ??= served.apiVersion;
  draft.kind ??= served.kind;
  if (served.resource.namespaced) {
    const given = draft.metadata.namespace ?? "";
    if (given !== "" && given !== namespace) throw badRequest(otherNamespace);
    draft.metadata.namespace = namespace;
    checkNamespace(registry, request);
  } else delete draft.metadata.namespace;
  if ((draft.metadata.resourceVersion ?? "") !== "") {
    throw new ApiError(500, "", "resourceVersion should not be set on objects to be created");
  }
}

/** Nothing is created in a namespace that does not exist or is going away. */
function checkNamespace(registry: Registry, request: WriteRequest): void {
  const { served, namespace } = request;
  if (!served.resource.namespaced) return;
  const found = registry.resource("namespaces")?.table.get("", namespace)?.object;
  if (found === undefined) throw notFound({ group: "", plural: "namespaces" }, namespace);
  if (found.metadata.deletionTimestamp === undefined) return;
  const why = `namespace ${namespace} is being terminated`;
  const message = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const refused = forbidden(served, request.name, message);
  throw new ApiError(403, "Forbidden", refused.message, {
    ...refused.details,
    causes: [{ reason: "NamespaceTerminating", message: why, field: "metadata.namespace" }],
  });
}

export function applyDefaults(world: WriteParts, request: WriteRequest, draft: StoredObject): void {
  request.served.resource.strategy.defaults?.(draft, writeContext(world, request.warnings));
}

export function admitPlainly(world: WriteParts, request: WriteRequest, draft: StoredObject): void {
  request.served.resource.strategy.admit?.(draft, writeContext(world, request.warnings));
}

function prepareCreate(world: WriteParts, request: WriteRequest, draft: StoredObject): StoredObject {
  const { served } = request;
  const { strategy } = served.resource;
  const context = writeContext(world, request.warnings);
  const { deletionTimestamp: _at, deletionGracePeriodSeconds: _grace, ...kept }: ObjectMeta = draft.metadata;
  draft.metadata = kept;
  delete draft.metadata.resourceVersion;
  if (strategy.hasStatus) delete draft["status"];
  if ((kept.name ?? "") === "" && (kept.generateName ?? "") !== "") {
    kept.name = `${(kept.generateName ?? "").slice(0, generatedLimit - 5)}${nameSuffix(world.random)}`;
  }
  kept.uid = randomUid(world.random);
  strategy.prepareCreate?.(draft, context);
  kept.creationTimestamp = formatTime(world.clock.now());
  if (strategy.generationOf === undefined) delete kept.generation;
  else kept.generation = 1;
  const errors = [...validateMetadata(draft, served), ...(strategy.validateCreate?.(draft, context) ?? [])];
  if (errors.length > 0) throw invalid(served, kept.name ?? "", errors);
  return ordered(draft);
}

function storeCreated(storage: Storage, request: WriteRequest, object: StoredObject): Revision {
  const { served } = request;
  const { table } = served.resource;
  const name = object.metadata.name ?? "";
  const existing = table.get(object.metadata.namespace ?? "", name);
  if (existing !== undefined) {
    throw alreadyExists(served, name, existing.object.metadata.deletionTimestamp !== undefined);
  }
  if (request.dryRun) return new Revision(object, storage.version);
  return table.put(object);
}

/** Members in the order in which the server sends them. */
export function ordered(object: StoredObject): StoredObject {
  const { kind, apiVersion, metadata, ...rest } = object;
  return { kind, apiVersion, metadata, ...rest };
}
