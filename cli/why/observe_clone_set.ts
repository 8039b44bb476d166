/** What the controller would see of a CloneSet, read once from the live cluster, and the plan it would make. */
import {
  type Action,
  type CloneSetOptions,
  type FeatureGates,
  type Plan,
  parseFeatureGates,
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
import { compileSelector, formatFieldErrors, isJsonObject } from "../../kube/core/index.ts";
import {
  type Client,
  type ControllerRevision,
  controllerRevisionResource,
  nodeResource,
  persistentVolumeClaimResource,
  podResource,
  type Resource,
} from "../../kube/index.ts";
import type { ClusterAccess, Host } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at, isAnyObject, numberAt, textsAt } from "../fields.ts";
import { objectResource } from "../resource_types.ts";

/**
 * The object in the version in which plans are made, with its defaults. The template of a stored object is left as it
 * is: admission has filled it in, or was told not to. Throws CliError with the field errors.
 */
export function toCloneSet(object: AnyObject, origin: "stored" | "manifest"): CloneSet {
  const spec = at(object, "spec");
  if (!isJsonObject(object) || !isJsonObject(spec)) throw new CliError("a CloneSet needs a spec");
  const defaulted = defaultCloneSet(object, {
    templateDefaults: origin === "manifest",
    hostNetworkPorts: false,
  });
  const decoded = decodeCloneSet(convertCloneSet(defaulted, "v1beta1"));
  if ("errors" in decoded)
    throw new CliError(`the CloneSet is invalid: ${formatFieldErrors(decoded.errors)}`);
  const { object: set, version } = decoded;
  if (version !== "v1beta1" || set.spec === undefined) throw new CliError("a CloneSet needs a spec");
  return { ...set, spec: set.spec };
}

export async function planOf(
  access: ClusterAccess,
  set: CloneSet,
  gatesText: string,
  host: Pick<Host, "clock" | "random">,
): Promise<{ seen: Seen; plan: Plan<CloneSetStatus> }> {
  const seen = await seenOf(access, set);
  const options = optionsOf(parseFeatureGates(gatesText), seen.pullJobs !== undefined);
  const input = { options, now: host.clock.now(), random: host.random };
  const plan = planCloneSet({ ...input, seen });
  const revision = plan.actions.find((action) => action.type === "create revision");
  if (revision === undefined) return { seen, plan };
  // A pass that writes a revision does nothing else: what people ask for is in the next one.
  const next = planCloneSet({ ...input, seen: withRevision(seen, revision, input.now) });
  return { seen, plan: { ...next, actions: [revision, ...next.actions] } };
}

/** What is seen once the revision is written. */
function withRevision(seen: Seen, action: Extract<Action, { type: "create revision" }>, now: number): Seen {
  const { metadata } = seen.set;
  const written: ControllerRevision = {
    namespace: metadata.namespace ?? "",
    name: action.name,
    uid: "",
    resourceVersion: "",
    generation: 1,
    labels: textsAt(action.body, "metadata", "labels"),
    annotations: textsAt(action.body, "metadata", "annotations"),
    owners: ownersOf(action.body),
    finalizers: [],
    createdAt: now,
    deletionAt: undefined,
    revision: numberAt(action.body, "revision") ?? 0,
    data: action.data,
  };
  return {
    ...seen,
    revisions: [...seen.revisions, written],
    revisionData: (name) => (name === written.name ? written.data : seen.revisionData(name)),
  };
}

function ownersOf(body: object): ControllerRevision["owners"] {
  return isAnyObject(body) ? (body.metadata.ownerReferences ?? []) : [];
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
    preDownload: gates.PreDownloadImageForInPlaceUpdate && preDownload,
  };
}

async function seenOf(access: ClusterAccess, set: CloneSet): Promise<Seen> {
  const { client } = access;
  const { uid = "", namespace = access.namespace } = set.metadata;
  const [pods, claims, revisions, nodes, pullJobs] = await Promise.all([
    everyItem(client, podResource, namespace),
    everyItem(client, persistentVolumeClaimResource, namespace),
    everyItem(client, controllerRevisionResource, namespace),
    everyItem(client, nodeResource, undefined),
    pullJobsOf(access, uid, namespace),
  ]);
  const owned = pods.filter((pod) => uid !== "" && pod.controller?.uid === uid);
  const labels = new Map(nodes.map((node) => [node.name, node.labels]));
  return {
    set,
    pods: owned,
    stored: owned,
    busy: new Set(),
    claims: claims.filter((claim) => claim.owners.some((owner) => uid !== "" && owner.uid === uid)),
    revisions: ownRevisions(set, revisions),
    revisionData: (name) => revisions.find((revision) => revision.name === name)?.data,
    failures: {},
    nodeLabels: (node) => labels.get(node),
    pullJobs,
  };
}

/** Those of this set, and those of nobody that its selector matches, lowest number first. */
function ownRevisions(set: CloneSet, revisions: readonly ControllerRevision[]): ControllerRevision[] {
  const selector = compileSelector(set.spec.selector);
  const own = revisions.filter((revision) => {
    const owner = revision.owners.find((candidate) => candidate.controller);
    return owner === undefined ? selector.matches(revision.labels) : owner.uid === set.metadata.uid;
  });
  return own.sort(
    (a, b) => a.revision - b.revision || a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1),
  );
}

async function pullJobsOf(
  access: ClusterAccess,
  uid: string,
  namespace: string,
): Promise<{ name: string; uid: string }[] | undefined> {
  const type = await access.types.findKind("apps.kruise.io", "ImagePullJob");
  if (type === undefined) return undefined;
  const jobs = await everyItem(access.client, objectResource(type), namespace);
  return jobs
    .filter((job) => job.metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === uid))
    .map((job) => ({ name: job.metadata.name ?? "", uid: job.metadata.uid ?? "" }));
}

async function everyItem<T>(
  client: Client,
  resource: Resource<T>,
  namespace: string | undefined,
): Promise<T[]> {
  const items: T[] = [];
  let next = "";
  do {
    const page = await client.list(resource, {
      ...(namespace === undefined ? {} : { namespace }),
      limit: 500,
      ...(next === "" ? {} : { continue: next }),
    });
    items.push(...page.items);
    next = page.continue;
  } while (next !== "");
  return items;
}
