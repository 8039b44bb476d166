/** Plans of Advanced StatefulSets, by the controller's own function. */
import {
  controllerOptions,
  type FeatureGates,
  observeStatefulSet,
  type Plan,
  planStatefulSet,
  statefulSetOptions,
  statefulSetState,
} from "../../controller/index.ts";
import {
  defaultStatefulSet,
  type StatefulSet,
  type StatefulSetStatus,
  statefulSet,
} from "../../crds/index.ts";
import { counted } from "../../kube/core/index.ts";
import { isKubeError } from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { objectResource } from "../resource_types.ts";
import type { ForecastRequest, Planner, Subject } from "./forecast.ts";
import { listWorkload, planPastRevision } from "./listed_workload.ts";
import { subjectOf } from "./subject.ts";

export const statefulSetPlanner: Planner = {
  kind: "StatefulSet",
  async forecast(request) {
    const set = statefulSetOf(request.subject, request.gates);
    const { plan, podCount } = await planOf(request, set);
    const { updatedReplicas, updateRevision, availableReplicas } = plan.status;
    return {
      summary:
        `${podCount} of ${counted(set.spec.replicas ?? 1, "pod")}, ` +
        `${updatedReplicas ?? 0} at revision ${updateRevision ?? ""}, ${availableReplicas ?? 0} available`,
      ...plan,
      notices: await noticesOf(request.access, set),
    };
  },
};

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

function statefulSetOf(subject: Subject, gates: FeatureGates): StatefulSet {
  return subjectOf(
    {
      kind: "StatefulSet",
      needs: { path: ["spec"], name: "spec" },
      read: (object, origin) => {
        const options = {
          templateDefaults: origin === "manifest",
          hostNetworkPorts: gates.DefaultHostNetworkHostPortsInPodTemplates,
          deletesClaims: gates.StatefulSetAutoDeletePVC,
          resizesClaims: gates.StatefulSetAutoResizePVCGate,
        };
        return statefulSet.readStored(defaultStatefulSet(object, options));
      },
    },
    subject,
  );
}

async function planOf(
  { access, gates, host }: ForecastRequest,
  set: StatefulSet,
): Promise<{ plan: Plan<StatefulSetStatus>; podCount: number }> {
  const { PreDownloadImageForInPlaceUpdate: preDownload } = gates;
  const { cluster, server, podCount } = await listWorkload(access, set.metadata, preDownload);
  const options = statefulSetOptions(controllerOptions({ gates }), server);
  const { random, clock } = host;
  const now = clock.now();
  const plan = planPastRevision(cluster, set.metadata, now, () => {
    const observed = observeStatefulSet(set, cluster, options);
    return planStatefulSet(statefulSetState({ observed, options, now, random }));
  });
  return { plan, podCount };
}
