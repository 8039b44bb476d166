/** The state that each object asks for, once nothing goes wrong any more: what is still missing, a sentence each. */
import type { StoredObject } from "../../sandbox/index.ts";
import { theirsLabel } from "../applied.ts";
import { unpulled } from "./agents.ts";
import { unsettledClaims } from "./claims.ts";
import {
  amountAt,
  at,
  claimsOf,
  conditionIs,
  controllerOf,
  isActive,
  isReady,
  isTerminating,
  keyOf,
  listAt,
  namespaceOf,
  numberAt,
  shortOf,
  stateLabel,
  textAt,
} from "./fields.ts";
import { unrested } from "./hot_upgrades.ts";
import type { ObservedCluster } from "./observed.ts";
import { hasOrdinal, ordinalOf, workloads } from "./workloads.ts";

type Missing = (object: StoredObject, cluster: ObservedCluster) => string[];

export function missing(cluster: ObservedCluster): string[] {
  const complaints: string[] = [];
  for (const [resource, ask] of Object.entries(byResource)) {
    for (const object of cluster.objects(resource)) {
      const { namespace = "", name = "" } = object.metadata;
      const found = isTerminating(object) ? ["is still being deleted"] : ask(object, cluster);
      for (const each of found) complaints.push(`${object.kind} ${namespace}/${name}: ${each}`);
    }
  }
  return [...complaints, ...orphans(cluster)];
}

function podsOf(owner: StoredObject, cluster: ObservedCluster): StoredObject[] {
  return cluster
    .objects("pods", owner.metadata.namespace)
    .filter((pod) => controllerOf(pod)?.uid === owner.metadata.uid);
}

function isObserved(object: StoredObject): string[] {
  const seen = numberAt(object, "status", "observedGeneration");
  return seen === object.metadata.generation
    ? []
    : [`generation ${object.metadata.generation} is not observed, but ${seen}`];
}

function equal(what: string, found: number, wanted: number): string[] {
  return found === wanted ? [] : [`${what}: ${found}, not ${wanted}`];
}

/** Status against what there is. */
function counts(
  object: StoredObject,
  pods: readonly StoredObject[],
  fields: Readonly<Record<string, (pod: StoredObject) => boolean>>,
): string[] {
  return Object.entries(fields).flatMap(([field, counted]) =>
    equal(`status.${field}`, numberAt(object, "status", field), pods.filter(counted).length),
  );
}

function isUpdated(owner: StoredObject): (pod: StoredObject) => boolean {
  const revision = shortOf(textAt(owner, "status", "updateRevision"));
  return ({ metadata }) => shortOf(metadata.labels?.["controller-revision-hash"] ?? "") === revision;
}

function ready(pods: readonly StoredObject[]): string[] {
  return pods.filter((pod) => !isReady(pod)).map(({ metadata }) => `${metadata.name} is not ready`);
}

/** Pods have the images that their revision says. */
function images(owner: StoredObject, pods: readonly StoredObject[]): string[] {
  const wanted = textAt(listAt(owner, "spec", "template", "spec", "containers")[0], "image");
  return pods
    .filter(isUpdated(owner))
    .filter((pod) => textAt(mainOf(pod), "image") !== wanted)
    .map(
      ({ metadata }) => `${metadata.name} does not have image ${wanted}, though it is at the newest revision`,
    );
}

function mainOf(pod: StoredObject): unknown {
  return listAt(pod, "spec", "containers").find((container) => textAt(container, "name") === "main");
}

/** Those that neither the status nor a pod names are history. */
function history(owner: StoredObject, cluster: ObservedCluster): string[] {
  const used = new Set(
    [
      ...podsOf(owner, cluster).map(({ metadata }) => metadata.labels?.["controller-revision-hash"] ?? ""),
      ...["currentRevision", "updateRevision"].map((field) => textAt(owner, "status", field)),
    ].map(shortOf),
  );
  const kept = cluster
    .objects("controllerrevisions.apps", owner.metadata.namespace)
    .filter((revision) => controllerOf(revision)?.uid === owner.metadata.uid)
    .filter(({ metadata }) => !used.has(shortOf(metadata.name ?? ""))).length;
  const most = numberAt(owner, "spec", "revisionHistoryLimit");
  return kept <= most ? [] : [`${kept} revisions that nothing uses are kept, not ${most}`];
}

/** With `InPlaceOnly` a pod of which nobody can tell what it was made of stays as it is, and those whose turn is after its wait. */
function isStuck(owner: StoredObject, pods: readonly StoredObject[], cluster: ObservedCluster): boolean {
  if (textAt(owner, "spec", "updateStrategy", "rollingUpdate", "podUpdatePolicy") !== "InPlaceOnly")
    return false;
  const revisions = cluster.objects("controllerrevisions.apps", owner.metadata.namespace);
  const known = new Set(revisions.map(({ metadata }) => shortOf(metadata.name ?? "")));
  return pods.some(
    ({ metadata }) => !known.has(shortOf(metadata.labels?.["controller-revision-hash"] ?? "")),
  );
}

function updated(kind: string, owner: StoredObject, pods: readonly StoredObject[]): string[] {
  const rules = workloads[kind];
  if (rules === undefined || rules.isPaused(owner)) return [];
  const replicas = rules.replicas(owner) ?? pods.length;
  const least =
    replicas -
    Math.ceil(
      amountAt(owner, ["spec", "updateStrategy", "rollingUpdate", "partition"], replicas, Math.ceil, 0),
    );
  const found = pods.filter(isUpdated(owner)).length;
  return found >= least ? [] : [`${found} pods are at the newest revision, not ${least}`];
}

/** Where a hook has let go of a pod whose CloneSet was paused meanwhile, its update waits (spec cloneset, rule 57). */
function isAvailable(pod: StoredObject): boolean {
  const state = pod.metadata.labels?.[stateLabel] ?? "";
  return isReady(pod) && (state === "" || state === "Normal");
}

const cloneSet: Missing = (object, cluster) => {
  const pods = podsOf(object, cluster);
  const active = pods.filter(isActive);
  return [
    ...isObserved(object),
    ...equal("pods", pods.length, numberAt(object, "spec", "replicas")),
    ...ready(pods),
    ...(isStuck(object, active, cluster) ? [] : updated("CloneSet", object, active)),
    ...images(object, active),
    ...counts(object, active, {
      replicas: () => true,
      readyReplicas: isReady,
      availableReplicas: isAvailable,
      updatedReplicas: isUpdated(object),
    }),
    ...unsettledClaims(object, pods, cluster),
    ...history(object, cluster),
  ];
};

/** In order nothing goes on while a pod is on its way out, and while it is paused that pod stays so (spec statefulset, rules 10 and 35). */
function isHeldUp(object: StoredObject, pods: readonly StoredObject[]): boolean {
  const isOrdered = textAt(object, "spec", "podManagementPolicy") !== "Parallel";
  return isOrdered && workloads["StatefulSet"]?.isPaused(object) === true && !pods.every(isAvailable);
}

const statefulSet: Missing = (object, cluster) => {
  const pods = podsOf(object, cluster);
  const surplus = pods.filter((pod) => !hasOrdinal(object, ordinalOf(pod)));
  const window = [
    ...equal("pods", pods.length, numberAt(object, "spec", "replicas")),
    ...surplus.map(({ metadata }) => `${metadata.name} is not wanted`),
  ];
  return [
    ...isObserved(object),
    ...(isHeldUp(object, pods) ? [] : window),
    ...ready(pods),
    ...(isStuck(object, pods, cluster) ? [] : updated("StatefulSet", object, pods)),
    ...images(object, pods),
    ...counts(object, pods, {
      replicas: () => true,
      readyReplicas: isReady,
      updatedReplicas: isUpdated(object),
    }),
    ...unsettledClaims(object, pods, cluster),
    ...history(object, cluster),
  ];
};

const daemonSet: Missing = (object, cluster) => {
  const pods = podsOf(object, cluster);
  const nodes = cluster.objects("nodes").map(({ metadata }) => metadata.name ?? "");
  return [
    ...isObserved(object),
    ...nodes.flatMap((node) =>
      equal(`pods on ${node}`, pods.filter((pod) => textAt(pod, "spec", "nodeName") === node).length, 1),
    ),
    ...ready(pods),
    ...updated("DaemonSet", object, pods),
    ...images(object, pods),
    ...equal("status.numberReady", numberAt(object, "status", "numberReady"), nodes.length),
    ...equal(
      "status.updatedNumberScheduled",
      numberAt(object, "status", "updatedNumberScheduled"),
      pods.filter(isUpdated(object)).length,
    ),
    ...history(object, cluster),
  ];
};

const sidecarSet: Missing = (object, cluster) => {
  const matched = numberAt(object, "status", "matchedPods");
  const strategy = at(object, "spec", "updateStrategy");
  const stay =
    at(strategy, "paused") === true ? matched : amountAt(strategy, ["partition"], matched, Math.ceil, 0);
  const found = numberAt(object, "status", "updatedPods");
  return [
    ...isObserved(object),
    ...(found >= matched - stay ? [] : [`${found} of ${matched} pods are updated, not ${matched - stay}`]),
    ...unrested(object, cluster.objects("pods", namespaceOf(object)).filter(isActive)),
  ];
};

const broadcastJob: Missing = (object, cluster) => {
  // What became of nodes after its end is not its business.
  if (textAt(object, "status", "completionTime") !== "") return [];
  const nodes = cluster.objects("nodes").length;
  return [
    ...equal("status.desired", numberAt(object, "status", "desired"), nodes),
    ...equal(
      "status.succeeded and failed",
      numberAt(object, "status", "succeeded") + numberAt(object, "status", "failed"),
      nodes,
    ),
    ...equal("status.active", numberAt(object, "status", "active"), 0),
  ];
};

const imagePullJob: Missing = (object) =>
  textAt(object, "status", "completionTime") === "" ? ["is not complete"] : [];

const imageListPullJob: Missing = (object, cluster) => {
  const children = cluster
    .objects("imagepulljobs.apps.kruise.io", object.metadata.namespace)
    .filter((job) => controllerOf(job)?.uid === object.metadata.uid);
  return [
    ...imagePullJob(object, cluster),
    ...equal("jobs of its images", children.length, numberAt(object, "status", "desired")),
  ];
};

/** None is missed: those that are gone or were too late are counted, too. */
const ephemeralJob: Missing = (object) => {
  if (at(object, "spec", "paused") === true) return [];
  return textAt(object, "status", "completionTime") === "" ? ["is not complete"] : [];
};

const probeMarker: Missing = (object, cluster) => {
  const app = textAt(object, "spec", "selector", "matchLabels", "app");
  return cluster
    .objects("pods", object.metadata.namespace)
    .filter((pod) => pod.metadata.labels?.["app"] === app && isReady(pod))
    .filter((pod) => !conditionIs(pod, "simulated.io/idle", "True"))
    .map(({ metadata }) => `${metadata.name} does not tell what its probe found`);
};

/** Where its pods are is what is remembered. */
const podState: Missing = (object, cluster) => {
  const { namespace } = object.metadata;
  const name = textAt(object, "spec", "targetRef", "name");
  const target = cluster.server.cluster.get("statefulsets.apps.kruise.io", {
    namespace: namespace ?? "",
    name,
  });
  if (target === undefined) return [];
  return podsOf(target, cluster).flatMap((pod) => {
    const found = textAt(object, "status", "podStates", pod.metadata.name ?? "", "nodeName");
    const node = textAt(pod, "spec", "nodeName");
    return found === node
      ? []
      : [`${pod.metadata.name} is on ${node}, and ${found || "nothing"} is remembered`];
  });
};

const unitedDeployment: Missing = (object, cluster) => {
  const subsets = cluster
    .objects("clonesets.apps.kruise.io", object.metadata.namespace)
    .filter((subset) => controllerOf(subset)?.uid === object.metadata.uid);
  const sum = subsets.reduce((total, subset) => total + numberAt(subset, "spec", "replicas"), 0);
  return [
    ...isObserved(object),
    ...equal("replicas of its subsets", sum, numberAt(object, "spec", "replicas")),
    ...equal("status.replicas", numberAt(object, "status", "replicas"), sum),
    ...equal("status.readyReplicas", numberAt(object, "status", "readyReplicas"), sum),
  ];
};

/** It goes a minute after its end (`cast.ts`). */
const recreateRequest: Missing = () => ["is still there"];

const cronJob: Missing = (object, cluster) => {
  const jobs = cluster
    .objects("broadcastjobs.apps.kruise.io", object.metadata.namespace)
    .filter((job) => controllerOf(job)?.uid === object.metadata.uid);
  const ended = (phase: string): number =>
    jobs.filter((job) => textAt(job, "status", "phase") === phase).length;
  const kept = (phase: string, limit: string): string[] => {
    const most = numberAt(object, "spec", limit);
    return ended(phase) <= most ? [] : [`${ended(phase)} runs that are ${phase} are kept, not ${most}`];
  };
  return [
    ...kept("completed", "successfulJobsHistoryLimit"),
    ...kept("failed", "failedJobsHistoryLimit"),
    ...equal("status.active", listAt(object, "status", "active").length, 0),
  ];
};

const resourceDistribution: Missing = (object, cluster) => {
  const { name = "" } = object.metadata;
  const listed = listAt(object, "spec", "targets", "includedNamespaces", "list");
  const targets = listed.map((each) => textAt(each, "name"));
  const wanted = textAt(object, "spec", "resource", "data", "round");
  return cluster.objects("namespaces").flatMap(({ metadata: { name: namespace = "" } }) => {
    const copy = cluster.server.cluster.get("configmaps", { namespace, name });
    if (copy?.metadata.labels?.[theirsLabel] === "true") return [];
    const found = copy && textAt(copy, "data", "round");
    return found === (targets.includes(namespace) ? wanted : undefined)
      ? []
      : [`its copy in ${namespace} has ${found ?? "nothing"}`];
  });
};

const workloadSpread: Missing = (object) => {
  const versions = Object.values(Object(at(object, "status", "versionedSubsetStatuses")));
  const subsets = versions.flatMap((version) => (Array.isArray(version) ? version : []));
  return [
    ...isObserved(object),
    ...subsets.flatMap((subset) => [
      ...waitedFor(subset, "creatingPods"),
      ...waitedFor(subset, "deletingPods"),
    ]),
  ];
};

const budget: Missing = (object, cluster) => {
  const { namespace } = object.metadata;
  const name = textAt(object, "spec", "targetRef", "name");
  const kind = textAt(object, "spec", "targetRef", "kind");
  const resource = workloads[kind]?.resource ?? "";
  const target = cluster.objects(resource, namespace).find(({ metadata }) => metadata.name === name);
  if (target === undefined) return [];
  const available = podsOf(target, cluster).filter(isReady).length;
  return [
    ...isObserved(object),
    ...equal("status.currentAvailable", numberAt(object, "status", "currentAvailable"), available),
    ...waitedFor(at(object, "status"), "disruptedPods"),
    ...waitedFor(at(object, "status"), "unavailablePods"),
  ];
};

/** What admission has let pass, and nobody will see any more. */
function waitedFor(status: unknown, field: string): string[] {
  return Object.keys(Object(at(status, field))).map((pod) => `${field} still names ${pod}`);
}

const byResource: Readonly<Record<string, Missing>> = {
  "clonesets.apps.kruise.io": cloneSet,
  "statefulsets.apps.kruise.io": statefulSet,
  "daemonsets.apps.kruise.io": daemonSet,
  "sidecarsets.apps.kruise.io": sidecarSet,
  "broadcastjobs.apps.kruise.io": broadcastJob,
  "imagepulljobs.apps.kruise.io": imagePullJob,
  "imagelistpulljobs.apps.kruise.io": imageListPullJob,
  "ephemeraljobs.apps.kruise.io": ephemeralJob,
  "podprobemarkers.apps.kruise.io": probeMarker,
  "persistentpodstates.apps.kruise.io": podState,
  "uniteddeployments.apps.kruise.io": unitedDeployment,
  "containerrecreaterequests.apps.kruise.io": recreateRequest,
  "advancedcronjobs.apps.kruise.io": cronJob,
  "resourcedistributions.apps.kruise.io": resourceDistribution,
  "workloadspreads.apps.kruise.io": workloadSpread,
  "podunavailablebudgets.policy.kruise.io": budget,
  "nodeimages.apps.kruise.io": unpulled,
};

/** What an owner that is gone has left behind. */
function orphans(cluster: ObservedCluster): string[] {
  const owners = new Set<string>();
  for (const resource of Object.keys(byResource))
    for (const { metadata } of cluster.objects(resource)) owners.add(metadata.uid ?? "");
  for (const { metadata } of cluster.objects("pods")) owners.add(metadata.uid ?? "");
  // A pod that somebody has taken from its workload lives on, and its claims go after it.
  const alone = cluster.objects("pods").filter((pod) => controllerOf(pod) === undefined);
  const used = new Set(
    alone.flatMap((pod) => claimsOf(pod).map((claim) => `${pod.metadata.namespace}/${claim}`)),
  );
  return ["pods", "controllerrevisions.apps", "persistentvolumeclaims"].flatMap((resource) =>
    cluster
      .objects(resource)
      .filter((object) => {
        const { ownerReferences = [] } = object.metadata;
        const isUsed = resource === "persistentvolumeclaims" && used.has(keyOf(object));
        return ownerReferences.length > 0 && !ownerReferences.some(({ uid }) => owners.has(uid)) && !isUsed;
      })
      .map(
        ({ metadata }) =>
          `${resource} ${metadata.namespace}/${metadata.name} is left of an owner that is gone`,
      ),
  );
}
