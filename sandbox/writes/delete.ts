/** Deleting: grace periods, finalizers, propagation (Background, Foreground, Orphan). */
import { type Clock, cloneJson, formatTime } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { badRequest, conflict, notFound } from "../http/api_error.ts";
import { numberAt, textAt } from "../json.ts";
import type { Resource } from "../resources/resource.ts";
import { Revision } from "../revision.ts";
import type { World } from "../world.ts";
import type { WriteRequest } from "./request.ts";
import { inVersion, workingVersion } from "./working.ts";

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  /** Empty: the default of the kind. */
  readonly propagationPolicy?: string | undefined;
  readonly orphanDependents?: boolean | undefined;
}

interface Deletion {
  /** False while finalizers or a kubelet hold the object back. */
  readonly gone: boolean;
  readonly revision: Revision;
}

const foreground = "foregroundDeletion";
const orphan = "orphan";

/** Checks, asks the webhooks, deletes. */
export async function deleteObject(
  world: Pick<World, "admission" | "clock">,
  request: WriteRequest,
  options: DeleteOptions,
): Promise<Deletion> {
  checkOptions(options);
  for (;;) {
    const before = request.served.resource.table.get(request.namespace, request.name);
    if (before === undefined) throw notFound(request.served, request.name);
    checkPreconditions(request, before, options);
    const [view] = await inVersion([before], request.served, workingVersion(request.served));
    await world.admission.validate({
      operation: "DELETE",
      request,
      object: undefined,
      oldObject: view?.object ?? before.object,
    });
    const now = request.served.resource.table.get(request.namespace, request.name);
    if (now !== before) continue;
    return deleteAtOnce(world.clock, request, options);
  }
}

function checkOptions(options: DeleteOptions): void {
  const { propagationPolicy, orphanDependents } = options;
  if (propagationPolicy && orphanDependents !== undefined) {
    throw badRequest(
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: orphanDependents and deletionPropagation cannot be both set',
    );
  }
}

function checkPreconditions(request: WriteRequest, revision: Revision, options: DeleteOptions): void {
  const { metadata } = revision.object;
  const byKind = { group: request.served.group, plural: request.served.kind };
  if (options.uid !== undefined && options.uid !== metadata.uid) {
    throw conflict(
      byKind,
      request.name,
      `the UID in the precondition (${options.uid}) does not match the UID in record (${metadata.uid ?? ""}). The object might have been deleted and then recreated`,
    );
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      byKind,
      request.name,
      `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion ?? ""}). The object might have been modified`,
    );
  }
}

/** The deletion itself, without webhooks. */
export function deleteAtOnce(clock: Clock, request: WriteRequest, options: DeleteOptions): Deletion {
  const { resource } = request.served;
  const before = resource.table.get(request.namespace, request.name);
  if (before === undefined) throw notFound(request.served, request.name);
  checkPreconditions(request, before, options);
  const grace = graceOf(resource, before.object, options);
  const finalizers = finalizersAfter(resource, before.object, options);
  const waits = finalizers.length > 0 || grace > 0 || isNamespace(resource);
  if (!waits) {
    if (request.dryRun) return { gone: true, revision: before };
    const removed = resource.table.remove(request.namespace, request.name);
    return { gone: true, revision: removed ?? before };
  }
  const draft = markDeleted(clock, before.object, grace, finalizers);
  if (isNamespace(resource)) draft["status"] = { phase: "Terminating" };
  if (draft === before.object || isSameDeletion(draft, before.object))
    return { gone: false, revision: before };
  if (request.dryRun) return { gone: false, revision: new Revision(draft, before.version) };
  return { gone: false, revision: resource.table.put(draft) };
}

function isNamespace(resource: Resource): boolean {
  return resource.name === "namespaces";
}

/** Only pods that a kubelet may be running get time to end. */
function graceOf(resource: Resource, object: StoredObject, options: DeleteOptions): number {
  if (resource.name !== "pods") return 0;
  const phase = textAt(object, "status", "phase");
  if (textAt(object, "spec", "nodeName") === "" || phase === "Succeeded" || phase === "Failed") return 0;
  const asked = options.gracePeriodSeconds ?? numberAt(object, "spec", "terminationGracePeriodSeconds") ?? 30;
  const wanted = asked < 0 ? 1 : asked;
  // A second request can only shorten the time.
  const running = object.metadata.deletionGracePeriodSeconds;
  if (object.metadata.deletionTimestamp !== undefined && running !== undefined) {
    return options.gracePeriodSeconds === undefined ? running : Math.min(wanted, running);
  }
  return wanted;
}

function finalizersAfter(resource: Resource, object: StoredObject, options: DeleteOptions): string[] {
  const present = object.metadata.finalizers ?? [];
  const policy = policyOf(resource, object, options);
  const kept = present.filter((name) => name !== foreground && name !== orphan);
  const own = resource.strategy.finalizerOnDelete;
  if (own !== undefined && !kept.includes(own) && object.metadata.deletionTimestamp === undefined)
    kept.push(own);
  if (policy === "Foreground") kept.push(foreground);
  if (policy === "Orphan") kept.push(orphan);
  return kept;
}

function policyOf(resource: Resource, object: StoredObject, options: DeleteOptions): string {
  if (options.propagationPolicy) return options.propagationPolicy;
  if (options.orphanDependents !== undefined) return options.orphanDependents ? "Orphan" : "Background";
  const present = object.metadata.finalizers ?? [];
  if (present.includes(orphan)) return "Orphan";
  if (present.includes(foreground)) return "Foreground";
  return resource.strategy.orphansByDefault === undefined ? "Background" : "Orphan";
}

function markDeleted(
  clock: Clock,
  before: StoredObject,
  grace: number,
  finalizers: readonly string[],
): StoredObject {
  const metadata = cloneJson(before.metadata);
  if (finalizers.length === 0) delete metadata.finalizers;
  else metadata.finalizers = [...finalizers];
  const again = metadata.deletionTimestamp !== undefined;
  if (!again && metadata.generation !== undefined && metadata.generation > 0) metadata.generation += 1;
  if (!again || grace !== metadata.deletionGracePeriodSeconds) {
    const { deletionTimestamp: at, deletionGracePeriodSeconds: seconds = 0 } = metadata;
    const start = at === undefined ? clock.now() : Date.parse(at) - seconds * 1000;
    metadata.deletionTimestamp = formatTime(start + grace * 1000);
    metadata.deletionGracePeriodSeconds = grace;
  }
  return { ...before, metadata };
}

function isSameDeletion(draft: StoredObject, before: StoredObject): boolean {
  const left = draft.metadata;
  const right = before.metadata;
  return (
    left.deletionTimestamp === right.deletionTimestamp &&
    left.deletionGracePeriodSeconds === right.deletionGracePeriodSeconds &&
    JSON.stringify(left.finalizers ?? []) === JSON.stringify(right.finalizers ?? [])
  );
}
