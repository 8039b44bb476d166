/** What a workload of pods is planned with: which lists are read, and the plan of the pass after a new revision. */
import {
  type Action,
  type ListedCluster,
  listedCluster,
  ownerKeyOf,
  type Plan,
  type ServerFeatures,
} from "../../controller/index.ts";
import type { ObjectMeta } from "../../kube/core/index.ts";
import {
  type ControllerRevision,
  controllerRevisionResource,
  listAll,
  nodeResource,
  persistentVolumeClaimResource,
  podResource,
} from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { isAnyObject, numberAt, textsAt } from "../fields.ts";
import { nodeImagesFor, pullJobsIn } from "./pull_jobs.ts";

export interface ListedWorkload {
  readonly cluster: ListedCluster;
  readonly server: ServerFeatures;
  /** Pods that the workload controls. */
  readonly podCount: number;
}

/** `preDownload`: the gate lets images be pulled ahead of an update. */
export async function listWorkload(
  access: ClusterAccess,
  metadata: ObjectMeta,
  preDownload: boolean,
): Promise<ListedWorkload> {
  const { client } = access;
  const { namespace = "" } = metadata;
  const [pods, claims, revisions, nodes, pullJobs] = await Promise.all([
    listAll(client, podResource, { namespace }),
    listAll(client, persistentVolumeClaimResource, { namespace }),
    listAll(client, controllerRevisionResource, { namespace }),
    listAll(client, nodeResource),
    preDownload ? pullJobsIn(access, namespace) : undefined,
  ]);
  const lists = { pods, claims, revisions, nodes, pullJobs: pullJobs ?? [] };
  const owner = ownerKeyOf(metadata);
  const nodeImages = await nodeImagesFor(access, listedCluster(lists).pullJobs(owner));
  const cluster = listedCluster({ ...lists, nodeImages });
  return {
    cluster,
    server: { resizeSubresource: true, imagePullJobs: pullJobs !== undefined },
    podCount: [...cluster.owned.pods.of(owner)].length,
  };
}

/**
 * The plan, looking past a pass that writes a revision: such a pass does nothing else, and what people ask for is in
 * the next one.
 */
export function planPastRevision<Status>(
  { revisions }: Pick<ListedCluster, "revisions">,
  { namespace = "" }: Pick<ObjectMeta, "namespace">,
  now: number,
  planned: () => Plan<Status>,
): Plan<Status> {
  const plan = planned();
  const revision = plan.actions.find((action) => action.type === "create revision");
  if (revision === undefined) return plan;
  revisions.upsert(writtenRevision(revision, namespace, now));
  const next = planned();
  return { ...next, actions: [revision, ...next.actions] };
}

function writtenRevision(
  { name, body, data }: Extract<Action, { type: "create revision" }>,
  namespace: string,
  now: number,
): ControllerRevision {
  return {
    namespace,
    name,
    uid: "",
    resourceVersion: "",
    generation: 1,
    labels: textsAt(body, "metadata", "labels"),
    annotations: textsAt(body, "metadata", "annotations"),
    owners: isAnyObject(body) ? (body.metadata.ownerReferences ?? []) : [],
    finalizers: [],
    createdAt: now,
    deletionAt: undefined,
    revision: numberAt(body, "revision") ?? 0,
    data,
  };
}
