/** ControllerRevisions of built-in StatefulSets and DaemonSets, as Kubernetes 1.34 names and writes them. */
import {
  cloneJson,
  compileSelector,
  goJson,
  isJsonObject,
  refOf,
  revisionData,
  revisionDataEqual,
  revisionHash,
} from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import {
  type ControllerRevisionObject,
  controllerOf,
  hasTemplate,
  isRevision,
  type PodTemplate,
} from "../objects/index.ts";
import {
  adopt,
  keyOfObject,
  ownerReference,
  selectorOf,
  type WorkloadDeps,
  type WorkloadKind,
} from "./workload.ts";

const resource = "controllerrevisions.apps";

export interface Revisions {
  /** Oldest first, the update revision last. */
  readonly all: readonly ControllerRevisionObject[];
  readonly update: ControllerRevisionObject;
}

/** The bytes that 1.34 stores: as 1.32 wrote them, without the creation time that is always null. */
export function nativeRevisionData(template: PodTemplate): string {
  const data: unknown = JSON.parse(revisionData(template));
  if (hasTemplateData(data) && data.spec.template.metadata)
    delete data.spec.template.metadata["creationTimestamp"];
  return goJson(data, { sortKeys: true });
}

function hasTemplateData(
  data: unknown,
): data is { spec: { template: { metadata?: Record<string, unknown>; spec: PodTemplate["spec"] } } } {
  return isJsonObject(data) && isJsonObject(data["spec"]) && isJsonObject(data["spec"]["template"]);
}

function dataOf({ data }: ControllerRevisionObject): object {
  return isJsonObject(data) ? data : {};
}

/** The template that a revision holds. */
export function templateOf(revision: ControllerRevisionObject): PodTemplate | undefined {
  const { data } = revision;
  if (!hasTemplateData(data)) return undefined;
  const wrapped = { metadata: {}, spec: { template: cloneJson(data.spec.template) } };
  return hasTemplate(wrapped) ? wrapped.spec.template : undefined;
}

/**
 * Finds or makes the revision of the owner's present template, adopting those without owner; reuse of an older one
 * makes it the newest.
 */
export function syncRevisions(
  deps: WorkloadDeps,
  kind: WorkloadKind,
  owner: StoredObject,
): Revisions | undefined {
  if (!hasTemplate(owner)) return undefined;
  const data = nativeRevisionData(owner.spec.template);
  const all = listRevisions(deps, kind, owner);
  const equal = all.filter((revision) => revisionDataEqual(dataOf(revision), data)).at(-1);
  const newest = all.at(-1);
  if (equal && equal === newest) return { all, update: equal };
  const number = (newest?.revision ?? 0) + 1;
  if (equal) {
    const raised = deps.cluster.update(resource, refOf(keyOfObject(equal)), (draft) => {
      draft["revision"] = number;
    });
    const update = isRevision(raised) ? raised : equal;
    return { all: [...all.filter((revision) => revision !== equal), update], update };
  }
  const update = createRevision(deps, kind, owner, data, number);
  return { all: [...all, update], update };
}

function listRevisions(
  deps: WorkloadDeps,
  kind: WorkloadKind,
  owner: StoredObject,
): ControllerRevisionObject[] {
  const selector = compileSelector(selectorOf(owner));
  const found: ControllerRevisionObject[] = [];
  for (const candidate of deps.cluster.list(resource, owner.metadata.namespace)) {
    if (!isRevision(candidate) || !selector.matches(candidate.metadata.labels)) continue;
    const holder = controllerOf(candidate)?.uid;
    if (holder === owner.metadata.uid) found.push(candidate);
    if (holder !== undefined || owner.metadata.deletionTimestamp) continue;
    const adopted = adopt(deps, kind, owner, resource, candidate);
    found.push(isRevision(adopted) ? adopted : candidate);
  }
  return found.sort((left, right) => left.revision - right.revision);
}

function createRevision(
  deps: WorkloadDeps,
  kind: WorkloadKind,
  owner: StoredObject,
  data: string,
  number: number,
): ControllerRevisionObject {
  const { namespace = "", name = "" } = owner.metadata;
  const labels = hasTemplate(owner) ? owner.spec.template.metadata?.labels : {};
  const hashLabel = kind.kind === "DaemonSet" ? "controller-revision-hash" : "controller.kubernetes.io/hash";
  for (let collisions = 0; ; collisions++) {
    const hash = revisionHash(data, collisions);
    const revisionName = `${name.slice(0, 223)}-${hash}`;
    const present = deps.cluster.get(resource, { namespace, name: revisionName });
    if (present && !(isRevision(present) && revisionDataEqual(dataOf(present), data))) continue;
    if (isRevision(present)) return present;
    const created = deps.cluster.create(resource, {
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: {
        namespace,
        name: revisionName,
        labels: { ...labels, [hashLabel]: hash },
        ...(owner.metadata.annotations ? { annotations: { ...owner.metadata.annotations } } : {}),
        ownerReferences: [ownerReference(owner, kind)],
      },
      data: JSON.parse(data),
      revision: number,
    });
    if (isRevision(created)) return created;
    throw new Error(`controllerrevision ${revisionName} was not stored`);
  }
}

/** Removes the oldest revisions that nothing runs, beyond the limit. */
export function forgetRevisions(
  deps: WorkloadDeps,
  { all, update }: Revisions,
  used: ReadonlySet<string>,
  limit: number,
): void {
  const unused = all.filter((revision) => revision !== update && !used.has(revision.metadata.name ?? ""));
  for (const revision of unused.slice(0, Math.max(0, unused.length - limit))) {
    deps.cluster.remove(resource, refOf(keyOfObject(revision)));
  }
}
