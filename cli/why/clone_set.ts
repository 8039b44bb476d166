/** Plans of CloneSets, by the controller's own function. */
import {
  type CloneSetOptions,
  type FeatureGates,
  type Plan,
  planCloneSet,
  type Seen,
} from "../../controller/index.ts";
import {
  type CloneSet,
  type CloneSetStatus,
  convertCloneSet,
  decodeCloneSet,
  defaultCloneSet,
} from "../../crds/index.ts";
import { formatFieldErrors, isJsonObject } from "../../kube/core/index.ts";
import type { ClusterAccess } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at } from "../fields.ts";
import { objectResource } from "../resource_types.ts";
import type { ForecastRequest, Planner, Subject } from "./forecast.ts";
import { everyItem, type Possessions, readPossessions, withRevision } from "./possessions.ts";

export const cloneSetPlanner: Planner = {
  kind: "CloneSet",
  async forecast(request) {
    const set = cloneSetOf(request.subject);
    const { plan, pods } = await planOf(request, set);
    const { updatedReplicas, updateRevision, availableReplicas } = plan.status;
    return {
      summary:
        `${pods} of ${set.spec.replicas ?? 1} pods, ` +
        `${updatedReplicas} at revision ${updateRevision}, ${availableReplicas} available`,
      ...plan,
    };
  },
};

function cloneSetOf({ stored, manifest }: Subject): CloneSet {
  const live = stored === undefined ? undefined : typed(stored, "stored");
  const wanted = manifest === undefined ? undefined : typed(manifest, "manifest");
  if (live !== undefined) return wanted === undefined ? live : { ...live, spec: wanted.spec };
  if (wanted === undefined) throw new CliError("no CloneSet to plan");
  return wanted;
}

/**
 * The object in the version in which plans are made, with its defaults. The template of a stored object is left as it
 * is: admission has filled it in, or was told not to. Throws CliError with the field errors.
 */
function typed(object: AnyObject, origin: "stored" | "manifest"): CloneSet {
  const needsSpec = (): CliError => new CliError("a CloneSet needs a spec");
  if (!isJsonObject(object) || !isJsonObject(at(object, "spec"))) throw needsSpec();
  const options = { templateDefaults: origin === "manifest", hostNetworkPorts: false };
  const decoded = decodeCloneSet(convertCloneSet(defaultCloneSet(object, options), "v1beta1"));
  if ("errors" in decoded) {
    throw new CliError(`the CloneSet is invalid: ${formatFieldErrors(decoded.errors)}`);
  }
  const { object: set, version } = decoded;
  if (version !== "v1beta1" || set.spec === undefined) throw needsSpec();
  return { ...set, spec: set.spec };
}

async function planOf(
  { access, gates, host }: ForecastRequest,
  set: CloneSet,
): Promise<{ plan: Plan<CloneSetStatus>; pods: number }> {
  const { uid = "", namespace = access.namespace } = set.metadata;
  const owned = await readPossessions(access.client, { uid, namespace, selector: set.spec.selector });
  const pullJobs = gates.PreDownloadImageForInPlaceUpdate
    ? await pullJobsOf(access, uid, namespace)
    : undefined;
  const options = optionsOf(gates, pullJobs !== undefined);
  const now = host.clock.now();
  const planned = (possessions: Possessions): Plan<CloneSetStatus> =>
    planCloneSet({ seen: seenOf(set, possessions, pullJobs), options, now, random: host.random });
  const plan = planned(owned);
  const revision = plan.actions.find((action) => action.type === "create revision");
  const pods = owned.pods.length;
  if (revision === undefined) return { plan, pods };
  // A pass that writes a revision does nothing else: what people ask for is in the next one.
  const next = planned(withRevision(owned, revision, namespace, now));
  return { plan: { ...next, actions: [revision, ...next.actions] }, pods };
}

function seenOf(set: CloneSet, owned: Possessions, pullJobs: Seen["pullJobs"]): Seen {
  return { set, ...owned, stored: owned.pods, busy: new Set(), failures: {}, pullJobs };
}

function optionsOf(gates: FeatureGates, preDownload: boolean): CloneSetOptions {
  return {
    shortHash: gates.CloneSetShortHash,
    partitionRollback: gates.CloneSetPartitionRollback,
    preparingUpdateAsUpdate: gates.PreparingUpdateAsUpdate,
    recreateOnClaimChange: gates.RecreatePodWhenChangeVCTInCloneSetGate,
    envFromMetadata: gates.InPlaceUpdateEnvFromMetadata,
    verticalScaling: gates.InPlaceWorkloadVerticalScaling,
    resizeSubresource: true,
    excludePreparingDelete: false,
    preDownload,
  };
}

async function pullJobsOf(access: ClusterAccess, uid: string, namespace: string): Promise<Seen["pullJobs"]> {
  const type = await access.types.findKind("apps.kruise.io", "ImagePullJob");
  if (type === undefined) return undefined;
  const jobs = await everyItem(access.client, objectResource(type), namespace);
  return jobs
    .filter((job) => job.metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === uid))
    .map((job) => ({ name: job.metadata.name ?? "", uid: job.metadata.uid ?? "" }));
}
