/** Subsets that are Deployments, which keep no pods of an old revision. Spec: uniteddeployment rules 32, 46. */
import type { JsonObject } from "../../../kube/core/index.ts";
import { objectAt } from "../../native/json_fields.ts";
import type { WorkloadKind } from "./workload.ts";

export const deployment: WorkloadKind = {
  template: "deploymentTemplate",
  type: "Deployment",
  resource: { group: "apps", version: "v1", plural: "deployments", kind: "Deployment", namespaced: true },
  immutable: ["selector"],
  setMaxUnavailable(spec: JsonObject, maxUnavailable: number): JsonObject {
    const strategy = objectAt(spec, "strategy");
    if (strategy["type"] === "Recreate") return spec;
    const rollingUpdate = { ...objectAt(strategy, "rollingUpdate"), maxUnavailable };
    return { ...spec, strategy: { ...strategy, rollingUpdate } };
  },
};
