/** What a workload owns, read once from the cluster, in the form in which plans see it. */
import { type Action, byNumber, type Plan } from "../../controller/index.ts";
import { compileSelector, type LabelSelector, type Labels } from "../../kube/core/index.ts";
import {
  type Client,
  type ControllerRevision,
  controllerRevisionResource,
  listAll,
  type Node,
  nodeResource,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaimResource,
  podResource,
} from "../../kube/index.ts";
import { isAnyObject, numberAt, textsAt } from "../fields.ts";

export interface OwnedRevisions {
  /** Own revisions and those of nobody that the selector matches, lowest number first. */
  readonly revisions: readonly ControllerRevision[];
  /** Data of any revision in the namespace. */
  revisionData(name: string): string | undefined;
}

export interface OwnedObjects extends OwnedRevisions {
  readonly pods: readonly Pod[];
  readonly claims: readonly PersistentVolumeClaim[];
  readonly nodes: readonly Node[];
  nodeLabels(node: string): Labels | undefined;
  /** Any pod of the namespace. */
  podNamed(name: string): Pod | undefined;
  claimNamed(name: string): PersistentVolumeClaim | undefined;
  /** Pods of the namespace that nobody controls. */
  readonly orphans: readonly Pod[];
}

export interface Owner {
  /** Empty for an object that is not stored yet. */
  readonly uid: string;
  readonly namespace: string;
  readonly selector: LabelSelector;
}

export async function readOwnedObjects(client: Client, owner: Owner): Promise<OwnedObjects> {
  const { uid, namespace } = owner;
  const [pods, claims, revisions, nodes] = await Promise.all([
    listAll(client, podResource, { namespace }),
    listAll(client, persistentVolumeClaimResource, { namespace }),
    listAll(client, controllerRevisionResource, { namespace }),
    listAll(client, nodeResource),
  ]);
  const labels = new Map(nodes.map((node) => [node.name, node.labels]));
  return {
    pods: pods.filter((pod) => uid !== "" && pod.controller?.uid === uid),
    claims: claims.filter((claim) => claim.owners.some((reference) => uid !== "" && reference.uid === uid)),
    revisions: ownRevisions(owner, revisions),
    revisionData: (name) => revisions.find((revision) => revision.name === name)?.data,
    nodes,
    nodeLabels: (node) => labels.get(node),
    podNamed: (name) => pods.find((pod) => pod.name === name),
    claimNamed: (name) => claims.find((claim) => claim.name === name),
    orphans: pods.filter((pod) => pod.controller === undefined),
  };
}

/** Those that the owner controls, and those of nobody that its selector matches, lowest number first. */
export function ownRevisions(owner: Owner, revisions: readonly ControllerRevision[]): ControllerRevision[] {
  const selector = compileSelector(owner.selector);
  const own = revisions.filter((revision) => {
    const reference = revision.owners.find((candidate) => candidate.controller);
    return reference === undefined ? selector.matches(revision.labels) : reference.uid === owner.uid;
  });
  return own.sort(byNumber);
}

/**
 * The plan, looking past a pass that writes a revision: such a pass does nothing else, and what people ask for is in
 * the next one.
 */
export function planPastRevision<Owned extends OwnedRevisions, Status>(
  planned: (owned: Owned) => Plan<Status>,
  owned: Owned,
  namespace: string,
  now: number,
): Plan<Status> {
  const plan = planned(owned);
  const revision = plan.actions.find((action) => action.type === "create revision");
  if (revision === undefined) return plan;
  const next = planned(withRevision(owned, revision, namespace, now));
  return { ...next, actions: [revision, ...next.actions] };
}

/** What is owned once a revision is written. */
function withRevision<Owned extends OwnedRevisions>(
  before: Owned,
  action: Extract<Action, { type: "create revision" }>,
  namespace: string,
  now: number,
): Owned {
  const written: ControllerRevision = {
    namespace,
    name: action.name,
    uid: "",
    resourceVersion: "",
    generation: 1,
    labels: textsAt(action.body, "metadata", "labels"),
    annotations: textsAt(action.body, "metadata", "annotations"),
    owners: isAnyObject(action.body) ? (action.body.metadata.ownerReferences ?? []) : [],
    finalizers: [],
    createdAt: now,
    deletionAt: undefined,
    revision: numberAt(action.body, "revision") ?? 0,
    data: action.data,
  };
  return {
    ...before,
    revisions: [...before.revisions, written],
    revisionData: (name: string) => (name === written.name ? written.data : before.revisionData(name)),
  };
}
