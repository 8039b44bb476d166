/** ImagePullJobs and EphemeralJobs: no more nodes and pods at a time than they say. ConfigMaps of others stay as they are. */
import type { StoredObject } from "../../sandbox/index.ts";
import { theirsLabel } from "../applied.ts";
import { type AgentPulls, orderOf } from "./agents.ts";
import { isByController } from "./disruptions.ts";
import { at, isActive, isTerminating, listAt, numberAt, textAt } from "./fields.ts";
import type { Rule } from "./rule.ts";
import type { Seen } from "./seen.ts";

const overPhases = ["Succeeded", "Failed"];

export const pulls: Rule = (write) => {
  const { cluster, seen, agentPulls, resource, name: written, staleMs } = write;
  if (!isByController(write) || resource !== "nodeimages.apps.kruise.io") return [];
  const nodes = cluster.objects(resource);
  const node = nodes.find(({ metadata }) => metadata.name === written);
  // Of the generation before: what the write itself has changed.
  const before = new Set(node && ordersOf(seen.recentStates(node, Number.POSITIVE_INFINITY).at(-2)));
  const begun = node === undefined ? [] : ordersOf(node).filter((order) => !before.has(order));
  return cluster.objects("imagepulljobs.apps.kruise.io").flatMap((job) => {
    // Fewer may pull by now than have begun: what counts is who is told to.
    if (!begun.some((order) => order.startsWith(job.metadata.uid ?? ""))) return [];
    const active = nodes.filter((node) => pullsFor(node, job, seen, agentPulls)).length;
    const most = Math.max(
      ...seen.recentStates(job, staleMs).map((state) => numberAt(state, "spec", "parallelism")),
    );
    const { namespace, name } = job.metadata;
    return active > most && !isTerminating(job)
      ? [`ImagePullJob ${namespace}/${name}: ${active} nodes pull, ${most} may`]
      : [];
  });
};

/** Who wants which version of which image: a text each, which begins with the UID of the job. */
function ordersOf(node: StoredObject | undefined): string[] {
  return Object.entries(Object(at(node, "spec", "images"))).flatMap(([image, wanted]) =>
    listAt(wanted, "tags").flatMap((tag) => {
      const order = ["tag", "version", "createdAt"].map((name) => at(tag, name)).join(" ");
      return ownersOf(tag).map((uid) => `${uid} ${image} ${order}`);
    }),
  );
}

/**
 * Has a tag of the job that its agent has not reported as over. Who shares the tag and asked after the job has begun the pull again:
 * that is not the job's doing (spec images, rule 4), also once the other one is gone.
 */
function pullsFor(
  node: StoredObject,
  { metadata: { uid } }: StoredObject,
  seen: Seen,
  agentPulls: Pick<AgentPulls, "isGivenUp">,
): boolean {
  const states = seen.recentStates(node, Number.POSITIVE_INFINITY);
  return Object.entries(Object(at(node, "spec", "images"))).some(([image, wanted]) =>
    listAt(wanted, "tags").some((tag) => {
      const begun = states
        .flatMap((state) => listAt(state, "spec", "images", image, "tags"))
        .find((each) => ["tag", "version", "createdAt"].every((name) => at(each, name) === at(tag, name)));
      const first = ownersOf(begun);
      const owned = (first.includes(uid) ? first : ownersOf(tag)).at(-1) === uid;
      const reported = listAt(node, "status", "imageStatuses", image, "tags").find(
        (each) => textAt(each, "tag") === textAt(tag, "tag"),
      );
      const isOver =
        numberAt(reported, "version") === numberAt(tag, "version") &&
        overPhases.includes(textAt(reported, "phase"));
      return owned && !isOver && !agentPulls.isGivenUp(node.metadata.name ?? "", orderOf(image, tag));
    }),
  );
}

/** UIDs; the last one asked last. */
function ownersOf(tag: unknown): (string | undefined)[] {
  return listAt(tag, "ownerReferences").map((owner) => textAt(owner, "uid"));
}

const jobVariable = "KRUISE_EJOB_ID";

export const looks: Rule = (write) => {
  const { cluster, seen, resource, namespace, staleMs } = write;
  if (!isByController(write) || resource !== "pods/ephemeralcontainers") return [];
  return cluster.objects("ephemeraljobs.apps.kruise.io", namespace).flatMap((job) => {
    const { name = "", uid = "" } = job.metadata;
    const active = cluster.objects("pods", namespace).filter((pod) => isActive(pod) && looksInto(pod, uid));
    const most = Math.max(
      ...seen.recentStates(job, staleMs).map((state) => numberAt(state, "spec", "parallelism")),
    );
    return active.length > most
      ? [`EphemeralJob ${namespace}/${name}: ${active.length} pods are looked into, ${most} may be`]
      : [];
  });
};

/** Not for a job of the same name that is gone: containers tell whose they are (spec containers 5.4, rule 2). */
function looksInto(pod: StoredObject, uid: string): boolean {
  const statuses = listAt(pod, "status", "ephemeralContainerStatuses");
  return listAt(pod, "spec", "ephemeralContainers").some((container) => {
    const isOfJob = listAt(container, "env").some(
      (variable) => textAt(variable, "name") === jobVariable && textAt(variable, "value") === uid,
    );
    const status = statuses.find((each) => textAt(each, "name") === textAt(container, "name"));
    return isOfJob && at(status, "state", "terminated") === undefined;
  });
}

export const theirs: Rule = (write) => {
  const { cluster, resource, namespace, name } = write;
  if (!isByController(write) || resource !== "configmaps") return [];
  const object = cluster.server.cluster.get(resource, { namespace, name });
  return object?.metadata.labels?.[theirsLabel] === "true"
    ? [`ConfigMap ${namespace}/${name} is somebody else's, and was written`]
    : [];
};
