/** ResourceDistribution: a Secret or ConfigMap in many namespaces. */
import type { ResourceDistribution } from "../../../crds/index.ts";
import { resourceDistributionResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { resourceDistributionWebhooks } from "./admit.ts";
import { ResourceDistributionReconciler } from "./reconcile.ts";

export { copyResources } from "./copies.ts";
export { copiesOf, observeResourceDistribution } from "./observe.ts";
export { type NamespacePlan, type ParsedDistribution, parseDistribution, planNamespace } from "./plan.ts";

export const resourceDistributionKind: Kind<ResourceDistribution> = {
  controllerName: "resourcedistribution-controller",
  workersFlag: "resourcedistribution-workers",
  resource: resourceDistributionResource,
  enabled: (gates) => gates.ResourceDistributionGate,
  reconciler: (deps) => new ResourceDistributionReconciler(deps),
  changeMatters: () => false,
  webhooks: resourceDistributionWebhooks,
  access: [],
};
