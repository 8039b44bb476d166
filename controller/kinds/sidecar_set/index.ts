/** SidecarSet: containers added to pods of any owner when they are created, and updated in place. */
import { revisedSidecars, type SidecarSet } from "../../../crds/index.ts";
import { readConfiguration } from "../../native/config_maps.ts";
import { policyRule, readVerbs } from "../../plan/access.ts";
import { sidecarSetResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { sidecarSetWebhooks } from "./admit.ts";
import { sidecarSetMetrics } from "./metrics.ts";
import { sidecarSetPodAdmission } from "./pod_admission.ts";
import { sidecarSetReconciler } from "./reconcile.ts";

export { observeSidecarSet, selectedIndex } from "./observe.ts";
export { planSidecarSet } from "./plan.ts";
export { rolloutOf } from "./rollout.ts";
export { type SidecarSetObserved, sidecarSetState } from "./state.ts";
export { type UnmanagedReason, unmanagedReason } from "./unmanaged.ts";

export const sidecarSetKind: Kind<SidecarSet> = {
  controllerName: "sidecarset-controller",
  workersFlag: "sidecarset-workers",
  resource: sidecarSetResource,
  revisions: revisedSidecars,
  reconciler: sidecarSetReconciler,
  metrics: sidecarSetMetrics,
  // In v1alpha1 the version's name is a label: the server does not count its change as a generation.
  changeMatters: (before, after) => before.spec.customVersion !== after.spec.customVersion,
  webhooks: sidecarSetWebhooks,
  podAdmission: sidecarSetPodAdmission,
  access: [policyRule("", ["namespaces"], readVerbs), readConfiguration],
};
