/** How workloads of pods are planned: which lists are read, and the plan of the pass after a new revision. */
import {
  type ControllerOptions,
  controllerOptions,
  type FeatureGate,
  type ListedCluster,
  listedCluster,
  type OtherAction,
  ownerKeyOf,
  type Plan,
  type RolloutEffect,
  type ServerFeatures,
} from "../../controller/index.ts";
import type { ObjectMeta } from "../../kube/core/index.ts";
import type { ControllerRevision, Random } from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { isAnyObject, numberAt, textsAt } from "../fields.ts";
import type { ForecastRequest } from "./forecast.ts";
import { nodeImagesFor } from "./pull_jobs.ts";
import { WorkloadLists } from "./workload_lists.ts";

/** The functions by which a kind's controller plans. */
interface WorkloadPlanning<Workload, Options, Observed, Status> {
  /** Lets images be pulled ahead of an update. */
  readonly preDownloadGate: FeatureGate;
  options(options: ControllerOptions, server: ServerFeatures): Options;
  observe(workload: Workload, cluster: ListedCluster, options: NoInfer<Options>): Observed;
  plan(input: { observed: Observed; options: Options; now: number; random: Random }): Plan<Status>;
}

/** `podCount`: of the pods that the workload controls. */
export async function planWorkload<Workload extends { metadata: ObjectMeta }, Options, Observed, Status>(
  { access, gates, host: { clock, random }, lists = new WorkloadLists(access) }: ForecastRequest,
  workload: Workload,
  kind: WorkloadPlanning<Workload, Options, Observed, Status>,
): Promise<{ plan: Plan<Status>; podCount: number }> {
  const { metadata } = workload;
  const { cluster, server } = await listWorkload(access, lists, metadata, gates[kind.preDownloadGate]);
  const options = kind.options(controllerOptions({ gates }), server);
  const now = clock.now();
  const plan = planPastRevision(cluster, metadata, now, () =>
    kind.plan({ observed: kind.observe(workload, cluster, options), options, now, random }),
  );
  return { plan, podCount: [...cluster.owned.pods.of(ownerKeyOf(metadata))].length };
}

async function listWorkload(
  access: ClusterAccess,
  read: WorkloadLists,
  metadata: ObjectMeta,
  preDownload: boolean,
): Promise<{ cluster: ListedCluster; server: ServerFeatures }> {
  const { namespace = "" } = metadata;
  const [pods, claims, revisions, nodes, pullJobs] = await Promise.all([
    read.pods(namespace),
    read.claims(namespace),
    read.revisions(namespace),
    read.nodes(),
    preDownload ? read.pullJobs(namespace) : undefined,
  ]);
  const lists = { pods, claims, revisions, nodes, pullJobs: pullJobs ?? [] };
  const nodeImages = await nodeImagesFor(access, listedCluster(lists).pullJobs(ownerKeyOf(metadata)));
  return {
    cluster: listedCluster({ ...lists, nodeImages }),
    server: { resizeSubresource: true, imagePullJobs: pullJobs !== undefined },
  };
}

/** Looks past a pass that writes a revision: it does nothing else, and what people ask for is in the next one. */
export function planPastRevision<Status>(
  { revisions }: Pick<ListedCluster, "revisions">,
  { namespace = "" }: Pick<ObjectMeta, "namespace">,
  now: number,
  planned: () => Plan<Status>,
): Plan<Status> {
  const plan = planned();
  const action = plan.actions.find((each): each is OtherAction => each.type === "create revision");
  const creation = action?.effects.find(({ type }) => type === "create");
  if (action === undefined || creation?.type !== "create") return plan;
  revisions.upsert(writtenRevision(creation, namespace, now));
  const next = planned();
  return { ...next, actions: [action, ...next.actions] };
}

function writtenRevision(
  { name, body, texts }: Extract<RolloutEffect, { type: "create" }>,
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
    data: texts?.["data"] ?? "",
  };
}
