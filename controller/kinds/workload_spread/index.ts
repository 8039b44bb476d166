/** WorkloadSpread: gives the pods of a workload to groups of nodes, in order and number. */
import type { WorkloadSpread } from "../../../crds/index.ts";
import { readConfiguration } from "../../native/config_maps.ts";
import { policyRule, readVerbs } from "../../plan/access.ts";
import { workloadSpreadResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { workloadSpreadWebhooks } from "./admit.ts";
import { workloadSpreadMetrics } from "./metrics.ts";
import { workloadSpreadPodAdmission } from "./pod_admission.ts";
import { WorkloadSpreadReconciler } from "./reconcile.ts";

export const workloadSpreadKind: Kind<WorkloadSpread> = {
  controllerName: "workloadspread-controller",
  workersFlag: "workloadspread-workers",
  resource: workloadSpreadResource,
  enabled: (gates) => gates.WorkloadSpread,
  reconciler: (deps) => new WorkloadSpreadReconciler(deps),
  metrics: workloadSpreadMetrics,
  // The reconciler looks for itself, after a moment: admission writes a status for many pods in a row.
  changeMatters: () => false,
  webhooks: workloadSpreadWebhooks,
  podAdmission: workloadSpreadPodAdmission,
  // Workloads and their sizes, and the list of further kinds. Pods are patched and removed by what all controllers may do.
  access: [
    policyRule("apps", ["statefulsets", "deployments", "replicasets"], readVerbs),
    policyRule("batch", ["jobs"], readVerbs),
    policyRule("*", ["*/scale"], ["get"]),
    readConfiguration,
  ],
};
