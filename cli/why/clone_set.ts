/** Plans of CloneSets, by the controller's own function. */
import { cloneSetOptions, cloneSetState, observeCloneSet, planCloneSet } from "../../controller/index.ts";
import { cloneSet, defaultCloneSet } from "../../crds/index.ts";
import { counted } from "../../kube/core/index.ts";
import { planWorkload } from "./listed_workload.ts";
import { planner } from "./subject.ts";

export const cloneSetPlanner = planner({
  kind: "CloneSet",
  needs: { path: ["spec"], name: "spec" },
  read: (object, origin) => {
    const options = { templateDefaults: origin === "manifest", hostNetworkPorts: false };
    return cloneSet.readStored(defaultCloneSet(object, options));
  },
  async forecast(set, request) {
    const { plan, podCount } = await planWorkload(request, set, {
      preDownloadGate: "PreDownloadImageForInPlaceUpdate",
      options: cloneSetOptions,
      observe: observeCloneSet,
      plan: (input) => planCloneSet(cloneSetState(input)),
    });
    const { updatedReplicas, updateRevision, availableReplicas } = plan.status;
    return {
      summary:
        `${podCount} of ${counted(set.spec.replicas ?? 1, "pod")}, ` +
        `${updatedReplicas} at revision ${updateRevision}, ${availableReplicas} available`,
      ...plan,
      updateRevision,
    };
  },
});
