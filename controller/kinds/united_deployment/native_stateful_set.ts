/** Subsets that are StatefulSets of `apps`. Spec: uniteddeployment rules 26, 33. */
import { rollingPartition, updatesOnDelete, type WorkloadKind } from "./workload.ts";

export const nativeStatefulSet: WorkloadKind = {
  template: "statefulSetTemplate",
  type: "StatefulSet",
  resource: { group: "apps", version: "v1", plural: "statefulsets", kind: "StatefulSet", namespaced: true },
  immutable: ["selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates"],
  partition: {
    of: rollingPartition.of,
    set: (spec, partition) =>
      updatesOnDelete(spec) ? spec : rollingPartition.set(spec, partition, { type: "RollingUpdate" }),
  },
  brokenPodsBlock: true,
};
