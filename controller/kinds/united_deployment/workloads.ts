/** The kinds of workload that subsets can be made of, by the member of `spec.template` that says so. Spec: uniteddeployment 4.5. */
import type { SubsetTemplateName } from "../../../crds/index.ts";
import type { JsonObject } from "../../../kube/core/index.ts";
import { objectAt } from "../../native/json_fields.ts";
import { cloneSetResource, statefulSetResource } from "../../plan/resources.ts";
import { updatesOnDelete, type WorkloadKind } from "./workload.ts";

/** Rules 26, 32, 33, 46. */
export const workloadKinds: Readonly<Record<SubsetTemplateName, WorkloadKind>> = {
  statefulSetTemplate: {
    template: "statefulSetTemplate",
    type: "StatefulSet",
    resource: { group: "apps", version: "v1", plural: "statefulsets", kind: "StatefulSet", namespaced: true },
    immutable: ["selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates"],
    setPartition: (spec, partition) =>
      updatesOnDelete(spec)
        ? spec
        : rolling(spec, "updateStrategy", { partition }, { type: "RollingUpdate" }),
    brokenPodsBlock: true,
  },
  advancedStatefulSetTemplate: {
    template: "advancedStatefulSetTemplate",
    type: "AdvancedStatefulSet",
    resource: statefulSetResource,
    immutable: ["selector", "serviceName", "podManagementPolicy"],
    setPartition: (spec, partition) =>
      updatesOnDelete(spec) ? spec : rolling(spec, "updateStrategy", { partition }),
  },
  cloneSetTemplate: {
    template: "cloneSetTemplate",
    type: "CloneSet",
    resource: cloneSetResource,
    immutable: ["selector"],
    // Whatever the type of the strategy is.
    setPartition: (spec, partition) => rolling(spec, "updateStrategy", { partition }),
    setMaxUnavailable: (spec, maxUnavailable) => rolling(spec, "updateStrategy", { maxUnavailable }),
  },
  deploymentTemplate: {
    template: "deploymentTemplate",
    type: "Deployment",
    resource: { group: "apps", version: "v1", plural: "deployments", kind: "Deployment", namespaced: true },
    immutable: ["selector"],
    setMaxUnavailable: (spec, maxUnavailable) =>
      objectAt(spec, "strategy")["type"] === "Recreate"
        ? spec
        : rolling(spec, "strategy", { maxUnavailable }),
  },
};

/** The spec with these settings of its rolling update, and with the type of its strategy if one is given. */
function rolling(
  spec: JsonObject,
  member: "strategy" | "updateStrategy",
  settings: object,
  type: object = {},
): JsonObject {
  const strategy = objectAt(spec, member);
  const rollingUpdate = { ...objectAt(strategy, "rollingUpdate"), ...settings };
  return { ...spec, [member]: { ...strategy, ...type, rollingUpdate } };
}
