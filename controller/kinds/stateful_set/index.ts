/** StatefulSet: pods with stable names and claims, in place and several at once. */
import { revisedPodTemplate, type StatefulSet } from "../../../crds/index.ts";
import { policyRule } from "../../plan/access.ts";
import { statefulSetResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { statefulSetWebhooks } from "./admit.ts";
import { statefulSetClaimants } from "./claimants.ts";
import { statefulSetMetrics } from "./metrics.ts";
import { statefulSetReconciler } from "./reconcile.ts";

export { observeStatefulSet } from "./observe.ts";
export { planStatefulSet } from "./plan.ts";
export { statefulSetOptions } from "./reconcile.ts";
export { statefulSetState } from "./state.ts";
export type { StatefulSetOptions } from "./strategy.ts";

export const statefulSetKind: Kind<StatefulSet> = {
  controllerName: "statefulset-controller",
  workersFlag: "statefulset-workers",
  resource: statefulSetResource,
  sharded: true,
  revisions: revisedPodTemplate,
  claimants: statefulSetClaimants,
  pullsImagesAhead: ({ PreDownloadImageForInPlaceUpdate }) => PreDownloadImageForInPlaceUpdate,
  reconciler: statefulSetReconciler,
  metrics: statefulSetMetrics,
  changeMatters: (before, after) => before.status?.currentRevision !== after.status?.currentRevision,
  webhooks: statefulSetWebhooks,
  // Whether claims can grow.
  access: [policyRule("storage.k8s.io", ["storageclasses"], ["get", "list"])],
};
