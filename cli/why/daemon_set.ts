/** Plans of Advanced DaemonSets, by the controller's own function. */
import {
  availabilityOf,
  controllerOptions,
  DaemonIndex,
  type DaemonSetObserved,
  daemonSetOptions,
  daemonSetState,
  nodeEligibility,
  PendingPods,
  type Plan,
  planDaemonSet,
} from "../../controller/index.ts";
import { type DaemonSet, type DaemonSetStatus, daemonSet, defaultDaemonSet } from "../../crds/index.ts";
import { compileSelector, counted } from "../../kube/core/index.ts";
import type { ForecastRequest, Planner, Subject } from "./forecast.ts";
import { type OwnedObjects, planPastRevision, readOwnedObjects } from "./owned_objects.ts";
import { nodeImagesFor, pullJobsOf } from "./pull_jobs.ts";
import { subjectOf } from "./subject.ts";

export const daemonSetPlanner: Planner = {
  kind: "DaemonSet",
  async forecast(request) {
    const set = daemonSetOf(request.subject);
    const { plan, pods } = await planOf(request, set);
    const { status } = plan;
    return {
      summary:
        `${counted(pods, "pod")} for ${counted(status.desiredNumberScheduled, "node")}, ` +
        `${status.updatedNumberScheduled} at revision ${status.updateRevision ?? ""}, ` +
        `${status.numberAvailable ?? 0} available`,
      ...plan,
    };
  },
};

function daemonSetOf(subject: Subject): DaemonSet {
  return subjectOf(
    {
      kind: "DaemonSet",
      needs: { path: ["spec"], name: "spec" },
      read: (object) => daemonSet.readStored(defaultDaemonSet(object)),
    },
    subject,
  );
}

async function planOf(
  { access, gates, host }: ForecastRequest,
  set: DaemonSet,
): Promise<{ plan: Plan<DaemonSetStatus>; pods: number }> {
  const { uid = "", namespace = access.namespace } = set.metadata;
  const owned = await readOwnedObjects(access.client, { uid, namespace, selector: set.spec.selector });
  const pullJobs = gates.PreDownloadImageForDaemonSetUpdate
    ? await pullJobsOf(access, uid, namespace)
    : undefined;
  const options = daemonSetOptions(controllerOptions({ gates }), {
    resizeSubresource: true,
    imagePullJobs: pullJobs !== undefined,
  });
  const now = host.clock.now();
  const nodeImage = await nodeImagesFor(access, pullJobs);
  const planned = (owned: OwnedObjects): Plan<DaemonSetStatus> => {
    const observed = { ...seenOf(set, { ...owned, namespace }, pullJobs), nodeImage };
    return planDaemonSet(daemonSetState({ observed, options, now, random: host.random }));
  };
  return { plan: planPastRevision(planned, owned, namespace, now), pods: owned.pods.length };
}

/** A failed pod counts as replaceable at once: how often it failed only the controller knows. */
function seenOf(
  set: DaemonSet,
  owned: OwnedObjects & { namespace: string },
  pullJobs: DaemonSetObserved["pullJobs"],
): DaemonSetObserved {
  const { uid = "" } = set.metadata;
  const { namespace } = owned;
  const nodes = new Map(owned.nodes.map((node) => [node.name, node]));
  const index = new DaemonIndex({
    uid,
    namespace,
    selector: compileSelector(set.spec.selector),
    nodeSelector: availabilityOf(set).nodeSelector,
    eligibility: nodeEligibility(set.spec.template.spec),
    nodes: () => nodes.values(),
    node: (name) => nodes.get(name),
    pods: () => [...owned.pods, ...owned.orphans],
    inFlight: () => new PendingPods(),
  });
  return {
    set,
    pods: index,
    revisions: owned.revisions,
    revisionData: owned.revisionData,
    failures: {},
    pullJobs,
    isTaken: (name) => owned.podNamed(name) !== undefined,
    failedPodWaitMs: () => 0,
  };
}
