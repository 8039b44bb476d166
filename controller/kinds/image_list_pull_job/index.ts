/** ImageListPullJob: several images, an ImagePullJob each. */
import type { ImageListPullJob } from "../../../crds/index.ts";
import { policyRule } from "../../plan/access.ts";
import { imageListPullJobResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { imageListPullJobWebhooks } from "./admit.ts";
import { ImageListPullJobReconciler } from "./reconcile.ts";

export const imageListPullJobKind: Kind<ImageListPullJob> = {
  controllerName: "imagelistpulljob-controller",
  resource: imageListPullJobResource,
  enabled: (gates) => gates.KruiseDaemon && gates.ImagePullJobGate,
  reconciler: (deps) => new ImageListPullJobReconciler(deps),
  changeMatters: (before, after) => before.status?.completionTime !== after.status?.completionTime,
  webhooks: imageListPullJobWebhooks,
  // Finished lists go after their time to live.
  access: [policyRule("apps.kruise.io", ["imagelistpulljobs"], ["delete"])],
};
