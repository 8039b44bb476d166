/** Subsets that are StatefulSets of `apps.kruise.io`. Spec: uniteddeployment rule 26. */
import { statefulSetResource } from "../../plan/resources.ts";
import { rollingPartition, updatesOnDelete, type WorkloadKind } from "./workload.ts";

export const advancedStatefulSet: WorkloadKind = {
  template: "advancedStatefulSetTemplate",
  type: "AdvancedStatefulSet",
  resource: statefulSetResource,
  immutable: ["selector", "serviceName", "podManagementPolicy"],
  partition: {
    of: rollingPartition.of,
    set: (spec, partition) => (updatesOnDelete(spec) ? spec : rollingPartition.set(spec, partition)),
  },
};
