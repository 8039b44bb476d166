/** Plans of Advanced DaemonSets, by the controller's own function. */
import { daemonSetOptions, daemonSetState, observeDaemonSet, planDaemonSet } from "../../controller/index.ts";
import { daemonSet, defaultDaemonSet } from "../../crds/index.ts";
import { counted } from "../../kube/core/index.ts";
import { planWorkload } from "./listed_workload.ts";
import { planner } from "./subject.ts";

export const daemonSetPlanner = planner({
  kind: "DaemonSet",
  needs: { path: ["spec"], name: "spec" },
  read: (object) => daemonSet.readStored(defaultDaemonSet(object)),
  async forecast(set, request) {
    const { plan, podCount } = await planWorkload(request, set, {
      preDownloadGate: "PreDownloadImageForDaemonSetUpdate",
      options: daemonSetOptions,
      observe: observeDaemonSet,
      plan: (input) => planDaemonSet(daemonSetState(input)),
    });
    const { status } = plan;
    return {
      summary:
        `${counted(podCount, "pod")} for ${counted(status.desiredNumberScheduled, "node")}, ` +
        `${status.updatedNumberScheduled} at revision ${status.updateRevision ?? ""}, ` +
        `${status.numberAvailable ?? 0} available`,
      ...plan,
      updateRevision: status.updateRevision,
    };
  },
});
