/** BroadcastJob: a pod to its end on each suitable node. */
import type { BroadcastJob } from "../../../crds/index.ts";
import { policyRule } from "../../plan/access.ts";
import { broadcastJobResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { broadcastJobWebhooks } from "./admit.ts";
import { broadcastJobMetrics } from "./metrics.ts";
import { broadcastJobReconciler } from "./reconcile.ts";

export { observeBroadcastJob } from "./observe.ts";
export { planBroadcastJob } from "./plan.ts";
export { broadcastJobOptions } from "./reconcile.ts";
export { broadcastJobState } from "./state.ts";

export const broadcastJobKind: Kind<BroadcastJob> = {
  controllerName: "broadcastjob-controller",
  workersFlag: "broadcastjob-workers",
  resource: broadcastJobResource,
  sharded: true,
  reconciler: broadcastJobReconciler,
  metrics: broadcastJobMetrics,
  changeMatters: (before, after) => before.status?.phase !== after.status?.phase,
  webhooks: broadcastJobWebhooks,
  // Finished jobs go after their time to live.
  access: [policyRule("apps.kruise.io", ["broadcastjobs"], ["delete"])],
};
