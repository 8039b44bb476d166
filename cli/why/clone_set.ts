/** Plans of CloneSets, by the controller's own function. */
import {
  CloneIndex,
  type CloneSetObserved,
  cloneSetOptions,
  cloneSetState,
  controllerOptions,
  PendingPods,
  type Plan,
  planCloneSet,
} from "../../controller/index.ts";
import { type CloneSet, type CloneSetStatus, cloneSet, defaultCloneSet } from "../../crds/index.ts";
import { counted } from "../../kube/core/index.ts";
import type { ForecastRequest, Planner, Subject } from "./forecast.ts";
import { type OwnedObjects, planPastRevision, readOwnedObjects } from "./owned_objects.ts";
import { nodeImagesFor, pullJobsOf } from "./pull_jobs.ts";
import { subjectOf } from "./subject.ts";

export const cloneSetPlanner: Planner = {
  kind: "CloneSet",
  async forecast(request) {
    const set = cloneSetOf(request.subject);
    const { plan, pods } = await planOf(request, set);
    const { updatedReplicas, updateRevision, availableReplicas } = plan.status;
    return {
      summary:
        `${pods} of ${counted(set.spec.replicas ?? 1, "pod")}, ` +
        `${updatedReplicas} at revision ${updateRevision}, ${availableReplicas} available`,
      ...plan,
    };
  },
};

function cloneSetOf(subject: Subject): CloneSet {
  return subjectOf(
    {
      kind: "CloneSet",
      needs: { path: ["spec"], name: "spec" },
      read: (object, origin) => {
        const options = { templateDefaults: origin === "manifest", hostNetworkPorts: false };
        return cloneSet.readStored(defaultCloneSet(object, options));
      },
    },
    subject,
  );
}

async function planOf(
  { access, gates, host }: ForecastRequest,
  set: CloneSet,
): Promise<{ plan: Plan<CloneSetStatus>; pods: number }> {
  const { uid = "", namespace = access.namespace } = set.metadata;
  const owned = await readOwnedObjects(access.client, { uid, namespace, selector: set.spec.selector });
  const pullJobs = gates.PreDownloadImageForInPlaceUpdate
    ? await pullJobsOf(access, uid, namespace)
    : undefined;
  const server = { resizeSubresource: true, imagePullJobs: pullJobs !== undefined };
  const options = cloneSetOptions(controllerOptions({ gates }), server);
  const now = host.clock.now();
  const nodeImage = await nodeImagesFor(access, pullJobs);
  const planned = (owned: OwnedObjects): Plan<CloneSetStatus> => {
    const observed = { ...seenOf(set, owned, pullJobs), nodeImage };
    return planCloneSet(cloneSetState({ observed, options, now, random: host.random }));
  };
  return { plan: planPastRevision(planned, owned, namespace, now), pods: owned.pods.length };
}

function seenOf(
  set: CloneSet,
  owned: OwnedObjects,
  pullJobs: CloneSetObserved["pullJobs"],
): CloneSetObserved {
  const { pods, ...rest } = owned;
  const named = new Map(pods.map((pod) => [pod.name, pod]));
  const index = new CloneIndex({
    pods: () => pods,
    pod: (name) => named.get(name),
    inFlight: () => new PendingPods(),
  });
  return { set, ...rest, pods: index, failures: {}, pullJobs };
}
