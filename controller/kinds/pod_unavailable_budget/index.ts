import type { PodUnavailableBudget } from "../../../crds/index.ts";
import { policyRule, readVerbs } from "../../plan/access.ts";
import { podUnavailableBudgetResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { podUnavailableBudgetWebhooks } from "./admit.ts";
import { budgetsAreOn } from "./gates.ts";
import { budgetDisruptionGuard, budgetPodAdmission } from "./pod_admission.ts";
import { PodUnavailableBudgetReconciler } from "./reconcile.ts";

export const podUnavailableBudgetKind: Kind<PodUnavailableBudget> = {
  controllerName: "podunavailablebudget-controller",
  workersFlag: "podunavailablebudget-workers",
  resource: podUnavailableBudgetResource,
  enabled: budgetsAreOn,
  reconciler: (deps) => new PodUnavailableBudgetReconciler(deps),
  // Admission writes it, too: what it records is taken out again after a while.
  changeMatters: (before, after) => recorded(before) !== recorded(after),
  webhooks: podUnavailableBudgetWebhooks,
  podAdmission: budgetPodAdmission,
  disruptionGuard: budgetDisruptionGuard,
  // Workloads behind budgets; others than these are asked for their scale.
  access: [
    policyRule("apps", ["statefulsets", "deployments", "replicasets"], readVerbs),
    policyRule("*", ["*/scale"], ["get"]),
  ],
};

function recorded({ status }: PodUnavailableBudget): string {
  return JSON.stringify([status?.unavailableAllowed, status?.disruptedPods, status?.unavailablePods]);
}
