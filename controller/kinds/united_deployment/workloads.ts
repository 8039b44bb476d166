/** The kinds of workload that subsets can be made of, by the member of `spec.template` that says so. Spec: uniteddeployment 4.5. */
import type { SubsetTemplateName } from "../../../crds/index.ts";
import { isJsonObject, type JsonObject, own } from "../../../kube/core/index.ts";
import { objectAt } from "../../native/json_fields.ts";
import { cloneSetResource, statefulSetResource } from "../../plan/resources.ts";
import { amountOf } from "../../rollout/order/amounts.ts";
import { type UnavailableLimit, updatesOnDelete, type WorkloadKind } from "./workload.ts";

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
    // Whatever the type of the strategy is. But where OnDelete has no rolling update, admission fills in none, and refuses half of one.
    setPartition: (spec, partition) =>
      updatesOnDelete(spec) && !isJsonObject(objectAt(spec, "updateStrategy")["rollingUpdate"])
        ? spec
        : rolling(spec, "updateStrategy", { partition }),
    maxUnavailable: limitIn("updateStrategy", { usual: "20%", roundUp: true, unlimited: "OnDelete" }),
  },
  deploymentTemplate: {
    template: "deploymentTemplate",
    type: "Deployment",
    resource: { group: "apps", version: "v1", plural: "deployments", kind: "Deployment", namespaced: true },
    immutable: ["selector"],
    maxUnavailable: limitIn("strategy", { usual: "25%", roundUp: false, unlimited: "Recreate" }),
  },
};

/** `usual`: where the spec says nothing. `unlimited`: the type of the strategies that know no limit. */
function limitIn(
  member: "strategy" | "updateStrategy",
  {
    usual,
    roundUp,
    unlimited,
  }: { readonly usual: string; readonly roundUp: boolean; readonly unlimited: string },
): UnavailableLimit {
  const hasNone = (spec: JsonObject) => objectAt(spec, member)["type"] === unlimited;
  return {
    of(spec, replicas) {
      if (hasNone(spec)) return undefined;
      const value = own(objectAt(objectAt(spec, member), "rollingUpdate"), "maxUnavailable") ?? usual;
      const amount = typeof value === "string" || typeof value === "number" ? value : usual;
      return Math.max(0, amountOf(amount, replicas, roundUp) ?? 0);
    },
    set: (spec, maxUnavailable) => (hasNone(spec) ? spec : rolling(spec, member, { maxUnavailable })),
  };
}

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
