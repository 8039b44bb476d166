/** DaemonSet: a pod on each suitable node, in place, in portions, or with a second pod for the change. */
import { type DaemonSet, revisedPodTemplate } from "../../../crds/index.ts";
import { daemonSetResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { daemonSetWebhooks } from "./admit.ts";
import { daemonSetMetrics } from "./metrics.ts";
import { daemonSetReconciler } from "./reconcile.ts";

export { observeDaemonSet } from "./observe.ts";
export { planDaemonSet } from "./plan.ts";
export { daemonSetOptions } from "./reconcile.ts";
export { daemonSetState } from "./state.ts";
export type { DaemonSetOptions } from "./strategy.ts";

export const daemonSetKind: Kind<DaemonSet> = {
  controllerName: "daemonset-controller",
  workersFlag: "daemonset-workers",
  resource: daemonSetResource,
  sharded: true,
  revisions: revisedPodTemplate,
  pullsImagesAhead: ({ PreDownloadImageForDaemonSetUpdate }) => PreDownloadImageForDaemonSetUpdate,
  reconciler: daemonSetReconciler,
  metrics: daemonSetMetrics,
  changeMatters: () => false,
  webhooks: daemonSetWebhooks,
  access: [],
};
