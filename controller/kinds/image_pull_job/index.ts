/** ImagePullJob: one image, pulled ahead on chosen nodes. */
import type { ImagePullJob } from "../../../crds/index.ts";
import { policyRule } from "../../plan/access.ts";
import { imagePullJobResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { imagePullJobWebhooks } from "./admit.ts";
import { ImagePullJobReconciler } from "./reconcile.ts";

export const imagePullJobKind: Kind<ImagePullJob> = {
  controllerName: "imagepulljob-controller",
  workersFlag: "imagepulljob-workers",
  resource: imagePullJobResource,
  enabled: (gates) => gates.KruiseDaemon && gates.ImagePullJobGate,
  reconciler: (deps) => new ImagePullJobReconciler(deps),
  changeMatters: (before, after) => before.status?.completionTime !== after.status?.completionTime,
  webhooks: imagePullJobWebhooks,
  // Made for lists and ahead of updates; finished ones go after their time to live.
  access: [policyRule("apps.kruise.io", ["imagepulljobs"], ["create", "delete"])],
};
