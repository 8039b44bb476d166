/** CloneSet: stateless pods, updated in place, chosen for deletion, rolled out in portions. */
import { type CloneSet, revisedPodTemplate } from "../../../crds/index.ts";
import { cloneSetResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { cloneSetWebhooks } from "./admit.ts";
import { cloneSetClaimants } from "./claimants.ts";
import { cloneSetMetrics } from "./metrics.ts";
import { cloneSetReconciler } from "./reconcile.ts";

export { observeCloneSet } from "./observe.ts";
export { planCloneSet } from "./plan.ts";
export { cloneSetOptions } from "./reconcile.ts";
export { cloneSetState } from "./state.ts";

export const cloneSetKind: Kind<CloneSet> = {
  controllerName: "cloneset-controller",
  workersFlag: "cloneset-workers",
  resource: cloneSetResource,
  sharded: true,
  revisions: revisedPodTemplate,
  claimants: cloneSetClaimants,
  pullsImagesAhead: ({ PreDownloadImageForInPlaceUpdate }) => PreDownloadImageForInPlaceUpdate,
  reconciler: cloneSetReconciler,
  metrics: cloneSetMetrics,
  changeMatters: (before, after) => before.status?.currentRevision !== after.status?.currentRevision,
  webhooks: cloneSetWebhooks,
  access: [],
};
