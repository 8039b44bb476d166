/** UnitedDeployment: spreads pods over groups of nodes, with one workload for each group. */
import { revisedSubsetTemplate, type UnitedDeployment } from "../../../crds/index.ts";
import { policyRule, readVerbs } from "../../plan/access.ts";
import { unitedDeploymentResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { unitedDeploymentWebhooks } from "./admit.ts";
import { UnitedDeploymentReconciler } from "./reconcile.ts";

export const unitedDeploymentKind: Kind<UnitedDeployment> = {
  sharded: true,
  revisions: revisedSubsetTemplate,
  controllerName: "uniteddeployment-controller",
  workersFlag: "uniteddeployment-workers",
  resource: unitedDeploymentResource,
  reconciler: (deps) => new UnitedDeploymentReconciler(deps),
  changeMatters: () => false,
  webhooks: unitedDeploymentWebhooks,
  // Makes a workload for each subset, of one of four kinds.
  access: [
    policyRule("apps.kruise.io", ["statefulsets", "clonesets"], ["create", "delete"]),
    policyRule("apps", ["statefulsets", "deployments"], [...readVerbs, "create", "delete", "patch"]),
  ],
};
