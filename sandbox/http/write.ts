/** POST, PUT, PATCH and DELETE of objects. */
import { type Clock, invalid as fieldInvalid, notSupported } from "../../kube/core/index.ts";
import { type Fields, isFields, numberAt, textAt, valueAt } from "../json.ts";
import type { Revision } from "../revision.ts";
import type { World } from "../world.ts";
import { type CreateParts, createObject, otherNamespace } from "../writes/create.ts";
import { type DeleteOptions, deleteObject } from "../writes/delete.ts";
import type { WriteRequest } from "../writes/request.ts";
import { type UpdateParts, updateObject } from "../writes/update.ts";
import { convertObject, inVersion, workingVersion } from "../writes/working.ts";
import { badRequest, invalid, methodNotAllowed } from "./api_error.ts";
import { expectedOf, parseBody, readObject, typedObject } from "./body.ts";
import { type Exchange, type Reply, statusReply } from "./exchange.ts";
import { matcher, parseListOptions } from "./list_options.ts";
import { patchChange } from "./patch.ts";
import { mediaFor, tableOptions } from "./read.ts";
import { objectReply, plainReply } from "./represent.ts";
import type { Target } from "./target.ts";

/** What a write hands to webhooks as its options. */
function optionsObject(kind: string, exchange: Exchange): Fields {
  const options: Fields = { kind, apiVersion: "meta.k8s.io/v1" };
  const dryRun = exchange.query.getAll("dryRun");
  if (dryRun.length > 0) options["dryRun"] = dryRun;
  const manager = exchange.query.get("fieldManager");
  if (manager !== null) options["fieldManager"] = manager;
  const validation = exchange.query.get("fieldValidation");
  if (validation !== null) options["fieldValidation"] = validation;
  if (exchange.query.has("force")) options["force"] = exchange.query.get("force") === "true";
  return options;
}

export function writeRequest(exchange: Exchange, target: Target, optionsKind: string): WriteRequest {
  const dryRun = exchange.query.getAll("dryRun");
  if (dryRun.some((value) => value !== "All")) {
    throw invalid({ group: "meta.k8s.io", kind: optionsKind }, "", [notSupported("dryRun", dryRun, ["All"])]);
  }
  const manager = exchange.query.get("fieldManager") ?? "";
  return {
    served: target.served,
    subresource: target.subresource,
    namespace: target.namespace,
    name: target.name,
    user: exchange.user,
    userAgent: exchange.userAgent,
    fieldManager: manager === "" ? (exchange.userAgent.split("/")[0] ?? "") || "unknown" : manager,
    dryRun: dryRun.length > 0,
    options: optionsObject(optionsKind, exchange),
    warnings: exchange.warnings,
  };
}

export async function postObject(world: CreateParts, exchange: Exchange, target: Target): Promise<Reply> {
  const media = mediaFor(exchange, target.served);
  const request = writeRequest(exchange, target, "CreateOptions");
  const draft = await readObject(exchange, expectedOf(target.served));
  const named = { ...request, name: draft.metadata.name ?? "" };
  const created = await createObject(world, named, draft);
  const reply = await answer(world.clock, exchange, target, created, media, 201);
  return { ...reply, created: created.name };
}

export async function putObject(world: UpdateParts, exchange: Exchange, target: Target): Promise<Reply> {
  const media = mediaFor(exchange, target.served);
  const request = writeRequest(exchange, target, "UpdateOptions");
  const { value, duplicates } = await parseBody(exchange, target.served.kind);
  if (!isFields(value)) throw badRequest("the body is not an object");
  const updated = await updateObject(world, request, async () => {
    const body = typedObject(exchange, value, expectedOf(target.served), duplicates);
    const draft = await convertObject(body, target.served, workingVersion(target.served));
    checkUpdateBody(draft.metadata.resourceVersion, draft.metadata.namespace, target);
    draft.metadata.name ??= target.name;
    return { draft };
  });
  return answer(world.clock, exchange, target, updated, media, 200);
}

function checkUpdateBody(version: string | undefined, namespace: string | undefined, target: Target): void {
  const { served } = target;
  if (served.resource.custom && (version === undefined || version === "")) {
    const missing = fieldInvalid("metadata.resourceVersion", 0, "must be specified for an update");
    throw invalid({ group: served.group, kind: served.plural }, target.name, [missing]);
  }
  if ((namespace ?? "") !== "" && namespace !== target.namespace) throw badRequest(otherNamespace);
}

export async function patchObject(world: CreateParts, exchange: Exchange, target: Target): Promise<Reply> {
  const media = mediaFor(exchange, target.served);
  const request = writeRequest(exchange, target, "PatchOptions");
  const existed = target.served.resource.table.get(target.namespace, target.name) !== undefined;
  const patched = await patchChange(world, exchange, target, request);
  return answer(world.clock, exchange, target, patched, media, existed ? 200 : 201);
}

async function answer(
  clock: Clock,
  exchange: Exchange,
  target: Target,
  revision: Revision,
  media: ReturnType<typeof mediaFor>,
  code: number,
): Promise<Reply> {
  const { served } = target;
  const [view] = await inVersion([revision], served, served.apiVersion);
  return objectReply(code, view ?? revision, served, media, tableOptions(clock, exchange));
}

export async function deleteOne(
  world: Pick<World, "admission" | "clock">,
  exchange: Exchange,
  target: Target,
): Promise<Reply> {
  const { served } = target;
  const { options, request } = await deletionRequest(exchange, target);
  warnAboutOrphans(exchange, target, options);
  const { gone, revision } = await deleteObject(world, request, options);
  const media = mediaFor(exchange, served);
  if (!gone || served.resource.name === "pods")
    return answer(world.clock, exchange, target, revision, media, 200);
  const details = {
    name: target.name,
    ...(served.group === "" ? {} : { group: served.group }),
    kind: served.plural,
    uid: revision.object.metadata.uid,
  };
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
  return statusReply(exchange, 200, status);
}

function warnAboutOrphans(exchange: Exchange, target: Target, options: DeleteOptions): void {
  const text = target.served.resource.strategy.orphansByDefault;
  if (text && !options.propagationPolicy && options.orphanDependents === undefined)
    exchange.warnings.push(text);
}

async function deletionRequest(
  exchange: Exchange,
  target: Target,
): Promise<{ options: DeleteOptions; request: WriteRequest }> {
  const body = await readDeleteOptions(exchange);
  const request = writeRequest(exchange, target, "DeleteOptions");
  const dryRun = Array.isArray(body["dryRun"]) && body["dryRun"].length > 0;
  const grace = exchange.query.get("gracePeriodSeconds");
  const policy = exchange.query.get("propagationPolicy") ?? textAt(body, "propagationPolicy");
  const orphan = exchange.query.get("orphanDependents") ?? valueAt(body, "orphanDependents");
  const uid = textAt(body, "preconditions", "uid");
  const version = textAt(body, "preconditions", "resourceVersion");
  const options: DeleteOptions = {
    gracePeriodSeconds: grace === null ? numberAt(body, "gracePeriodSeconds") : Number(grace),
    propagationPolicy: policy === "" ? undefined : policy,
    orphanDependents: typeof orphan === "boolean" ? orphan : orphan === "true" ? true : undefined,
    uid: uid === "" ? undefined : uid,
    resourceVersion: version === "" ? undefined : version,
  };
  checkPolicy(options.propagationPolicy);
  return {
    options,
    request: { ...request, dryRun: request.dryRun || dryRun, options: { ...request.options, ...body } },
  };
}

const policies = ["Foreground", "Background", "Orphan"];

function checkPolicy(policy: string | undefined): void {
  if (policy === undefined || policies.includes(policy)) return;
  throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", [
    notSupported("propagationPolicy", policy, [...policies, "nil"]),
  ]);
}

async function readDeleteOptions(exchange: Exchange): Promise<Fields> {
  if ((await exchange.body()).length === 0) return {};
  const { value } = await parseBody(exchange, "DeleteOptions");
  if (!isFields(value)) return {};
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = value;
  return { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", ...rest };
}

export async function deleteMany(
  world: Pick<World, "admission" | "clock" | "storage">,
  exchange: Exchange,
  target: Target,
): Promise<Reply> {
  const { served, namespace } = target;
  if (!served.verbs.includes("deletecollection")) throw methodNotAllowed();
  const { options, request } = await deletionRequest(exchange, target);
  const matches = matcher(parseListOptions(exchange.query, served), served);
  const items = served.resource.table.list(namespace).filter((revision) => matches(revision.object));
  const deleted: Fields[] = [];
  for (const revision of items) {
    if (served.resource.table.get(revision.namespace, revision.name) === undefined) continue;
    const one = { ...request, namespace: revision.namespace, name: revision.name };
    const result = await deleteObject(world, one, { ...options, uid: undefined });
    deleted.push(result.revision.object);
  }
  const media = { ...mediaFor(exchange, served), as: "" as const, encoding: "json" as const };
  const list = {
    kind: served.listKind,
    apiVersion: served.apiVersion,
    metadata: { resourceVersion: String(world.storage.version) },
    items: deleted,
  };
  return plainReply(200, list, { ...media, contentType: "application/json" });
}

/** `namespaces/finalize`: the only write that may change a namespace's own finalizers. */
export async function finalizeNamespace(
  world: UpdateParts,
  exchange: Exchange,
  target: Target,
): Promise<Reply> {
  const media = mediaFor(exchange, target.served);
  const request = writeRequest(exchange, target, "UpdateOptions");
  const body = await readObject(exchange, expectedOf(target.served));
  const updated = await updateObject(world, request, async (current) => ({
    draft: { ...current, metadata: { ...body.metadata, name: target.name }, spec: body["spec"] },
  }));
  return answer(world.clock, exchange, target, updated, media, 200);
}
