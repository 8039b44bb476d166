/** Plans of Advanced StatefulSets, by the controller's own function. */
import {
  observeStatefulSet,
  planStatefulSet,
  statefulSetOptions,
  statefulSetState,
} from "../../controller/index.ts";
import { defaultStatefulSet, type StatefulSet, statefulSet } from "../../crds/index.ts";
import { counted } from "../../kube/core/index.ts";
import { isKubeError } from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { objectResource } from "../resource_types.ts";
import { planWorkload } from "./listed_workload.ts";
import { planner } from "./subject.ts";

export const statefulSetPlanner = planner({
  kind: "StatefulSet",
  needs: { path: ["spec"], name: "spec" },
  read: (object, origin, gates) => {
    const options = {
      templateDefaults: origin === "manifest",
      hostNetworkPorts: gates.DefaultHostNetworkHostPortsInPodTemplates,
      deletesClaims: gates.StatefulSetAutoDeletePVC,
      resizesClaims: gates.StatefulSetAutoResizePVCGate,
    };
    return statefulSet.readStored(defaultStatefulSet(object, options));
  },
  async forecast(set, request) {
    const { plan, podCount } = await planWorkload(request, set, {
      preDownloadGate: "PreDownloadImageForInPlaceUpdate",
      options: statefulSetOptions,
      observe: observeStatefulSet,
      plan: (input) => planStatefulSet(statefulSetState(input)),
    });
    const { updatedReplicas, updateRevision, availableReplicas } = plan.status;
    return {
      summary:
        `${podCount} of ${counted(set.spec.replicas ?? 1, "pod")}, ` +
        `${updatedReplicas ?? 0} at revision ${updateRevision ?? ""}, ${availableReplicas ?? 0} available`,
      ...plan,
      updateRevision,
      notices: await noticesOf(request.access, set),
    };
  },
});

/** A set without its service works, but none of its pods has a name in the DNS: nobody else says so. */
async function noticesOf(access: ClusterAccess, { metadata, spec }: StatefulSet): Promise<string[]> {
  const name = spec.serviceName ?? "";
  if (name === "") return [];
  const type = await access.types.findKind("", "Service");
  if (type === undefined) return [];
  const namespace = metadata.namespace ?? access.namespace;
  try {
    await access.client.get(objectResource(type), { namespace, name });
    return [];
  } catch (error) {
    // Whoever may not read services is not bothered with that here.
    if (!isKubeError(error, "NotFound")) return [];
    return [
      `service ${name} of spec.serviceName is not in namespace ${namespace}: its pods have no names of their own in the DNS`,
    ];
  }
}
