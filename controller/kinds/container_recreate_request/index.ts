/** ContainerRecreateRequest: containers of a running pod are restarted by the agent of its node. */
import type { ContainerRecreateRequest } from "../../../crds/index.ts";
import { jsonEqual } from "../../../kube/core/index.ts";
import { policyRule, readVerbs } from "../../plan/access.ts";
import { containerRecreateRequestResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { containerRecreateRequestWebhooks } from "./admit.ts";
import { containerRecreateRequestMetrics } from "./metrics.ts";
import { containerRecreateRequestReconciler } from "./reconcile.ts";

export const containerRecreateRequestKind: Kind<ContainerRecreateRequest> = {
  controllerName: "containerrecreaterequest-controller",
  workersFlag: "crr-workers",
  resource: containerRecreateRequestResource,
  enabled: (gates) => gates.KruiseDaemon,
  reconciler: containerRecreateRequestReconciler,
  metrics: containerRecreateRequestMetrics,
  changeMatters: (before, after) =>
    before.status?.phase !== after.status?.phase ||
    !jsonEqual(before.status?.containerRecreateStates, after.status?.containerRecreateStates),
  webhooks: containerRecreateRequestWebhooks,
  // Finished requests end with their time to live.
  access: [policyRule("apps.kruise.io", ["containerrecreaterequests"], ["delete"])],
  // A request that somebody else wrote meanwhile is read again.
  agentVerbs: readVerbs,
};
