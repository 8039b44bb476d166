/** Plans of CloneSets, by the controller's own function. */
import {
  cloneSetOptions,
  cloneSetState,
  controllerOptions,
  observeCloneSet,
  type Plan,
  planCloneSet,
} from "../../controller/index.ts";
import { type CloneSet, type CloneSetStatus, cloneSet, defaultCloneSet } from "../../crds/index.ts";
import { counted } from "../../kube/core/index.ts";
import type { ForecastRequest, Planner, Subject } from "./forecast.ts";
import { listWorkload, planPastRevision } from "./listed_workload.ts";
import { subjectOf } from "./subject.ts";

export const cloneSetPlanner: Planner = {
  kind: "CloneSet",
  async forecast(request) {
    const set = cloneSetOf(request.subject);
    const { plan, podCount } = await planOf(request, set);
    const { updatedReplicas, updateRevision, availableReplicas } = plan.status;
    return {
      summary:
        `${podCount} of ${counted(set.spec.replicas ?? 1, "pod")}, ` +
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
): Promise<{ plan: Plan<CloneSetStatus>; podCount: number }> {
  const { PreDownloadImageForInPlaceUpdate: preDownload } = gates;
  const { cluster, server, podCount } = await listWorkload(access, set.metadata, preDownload);
  const options = cloneSetOptions(controllerOptions({ gates }), server);
  const { random, clock } = host;
  const now = clock.now();
  const plan = planPastRevision(cluster, set.metadata, now, () => {
    const observed = observeCloneSet(set, cluster, options);
    return planCloneSet(cloneSetState({ observed, options, now, random }));
  });
  return { plan, podCount };
}
