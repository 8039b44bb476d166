/** Former templates of a workload, or what else its kind keeps, from the ControllerRevisions or ReplicaSets that it owns. */
import { formatSelector, type LabelSelector } from "../../kube/core/index.ts";
import { ignoreNotFound, listAll } from "../../kube/index.ts";
import { changeCauseOf } from "../change_cause.ts";
import type { ClusterAccess } from "../command.ts";
import { controllerNamespace } from "../controller_namespace.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at, type Fields, isFields, numberAt, textAt, textsAt } from "../fields.ts";
import { objectResource, type ResourceType } from "../resource_types.ts";
import type { Revised } from "./revised.ts";
import type { Workload } from "./workloads.ts";

export interface Revision {
  /** The number that only grows. */
  readonly number: number;
  readonly name: string;
  readonly changeCause: string | undefined;
  /** Members of the workload's `spec` as they were; null for one that was not there. */
  readonly spec: Fields;
  readonly object: AnyObject;
}

const deploymentRevisionAnnotation = "deployment.kubernetes.io/revision";

/** All revisions that a workload owns, lowest number first. */
export async function revisionsOf(
  access: ClusterAccess,
  workload: Workload,
  object: AnyObject,
): Promise<Revision[]> {
  const type = await access.types.findKind("apps", workload.history);
  if (type === undefined) throw new CliError(`the server does not serve ${workload.history} of apps`);
  const revised = await workload.revised();
  const owned = await ownedBy(access, type, revised.selector(object), object);
  const revisions = owned.map((candidate) =>
    workload.history === "ReplicaSet" ? ofReplicaSet(candidate) : ofControllerRevision(revised, candidate),
  );
  return revisions.filter((revision) => revision !== undefined).sort((a, b) => a.number - b.number);
}

/** Throws CliError where there is none of this number. */
export function revisionNumbered(revisions: readonly Revision[], wanted: number): Revision {
  const found = revisions.find(({ number }) => number === wanted);
  if (found === undefined) throw new CliError(`unable to find specified revision ${wanted} in history`);
  return found;
}

async function ownedBy(
  access: ClusterAccess,
  type: ResourceType,
  selector: LabelSelector,
  owner: AnyObject,
): Promise<AnyObject[]> {
  const { namespace = await controllerNamespace(access), uid } = owner.metadata;
  const labelSelector = formatSelector(selector);
  const items = await listAll(access.client, objectResource(type), { namespace, labelSelector });
  return items.filter((item) =>
    item.metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === uid),
  );
}

function ofControllerRevision(revised: Revised, object: AnyObject): Revision | undefined {
  const spec = revised.of(at(object, "data", "spec"));
  const number = numberAt(object, "revision");
  return spec === undefined || number === undefined ? undefined : revision(object, number, spec);
}

function ofReplicaSet(object: AnyObject): Revision | undefined {
  const number = Number(object.metadata.annotations?.[deploymentRevisionAnnotation]);
  const stored = at(object, "spec", "template");
  if (!Number.isInteger(number) || !isFields(stored)) return undefined;
  const { "pod-template-hash": _, ...labels } = textsAt(stored, "metadata", "labels");
  const metadata = at(stored, "metadata");
  const template = { ...stored, metadata: { ...(isFields(metadata) ? metadata : {}), labels } };
  return revision(object, number, { template });
}

function revision(object: AnyObject, number: number, spec: Fields): Revision {
  return { number, name: object.metadata.name ?? "", changeCause: changeCauseOf(object), spec, object };
}

/** The revision number that the workload's newest template has, or undefined when it is not written yet. */
export async function runningRevision(
  access: ClusterAccess,
  workload: Workload,
  object: AnyObject,
): Promise<number | undefined> {
  if (workload.history === "ReplicaSet") {
    const number = Number(object.metadata.annotations?.[deploymentRevisionAnnotation]);
    return Number.isInteger(number) ? number : undefined;
  }
  const name = workload.namesRevision ? textAt(object, "status", "updateRevision") : undefined;
  if (name === undefined) return (await revisionsOf(access, workload, object)).at(-1)?.number;
  const type = await access.types.findKind("apps", "ControllerRevision");
  if (type === undefined) return undefined;
  const ref = { namespace: object.metadata.namespace, name };
  const found = await access.client.get(objectResource(type), ref).catch(ignoreNotFound);
  return numberAt(found, "revision");
}
