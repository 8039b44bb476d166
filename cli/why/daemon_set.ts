/** Plans of Advanced DaemonSets, by the controller's own function. */
import {
  controllerOptions,
  daemonSetOptions,
  daemonSetState,
  observeDaemonSet,
  type Plan,
  planDaemonSet,
} from "../../controller/index.ts";
import { type DaemonSet, type DaemonSetStatus, daemonSet, defaultDaemonSet } from "../../crds/index.ts";
import { counted } from "../../kube/core/index.ts";
import type { ForecastRequest, Planner, Subject } from "./forecast.ts";
import { listWorkload, planPastRevision } from "./listed_workload.ts";
import { subjectOf } from "./subject.ts";

export const daemonSetPlanner: Planner = {
  kind: "DaemonSet",
  async forecast(request) {
    const set = daemonSetOf(request.subject);
    const { plan, podCount } = await planOf(request, set);
    const { status } = plan;
    return {
      summary:
        `${counted(podCount, "pod")} for ${counted(status.desiredNumberScheduled, "node")}, ` +
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
): Promise<{ plan: Plan<DaemonSetStatus>; podCount: number }> {
  const { PreDownloadImageForDaemonSetUpdate: preDownload } = gates;
  const { cluster, server, podCount } = await listWorkload(access, set.metadata, preDownload);
  const options = daemonSetOptions(controllerOptions({ gates }), server);
  const { random, clock } = host;
  const now = clock.now();
  const plan = planPastRevision(cluster, set.metadata, now, () => {
    const observed = observeDaemonSet(set, cluster, options);
    return planDaemonSet(daemonSetState({ observed, options, now, random }));
  });
  return { plan, podCount };
}
