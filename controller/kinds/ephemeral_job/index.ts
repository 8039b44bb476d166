/** EphemeralJob: ephemeral containers in running pods. */
import type { EphemeralJob } from "../../../crds/index.ts";
import { policyRule } from "../../plan/access.ts";
import { ephemeralJobResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { ephemeralJobWebhooks } from "./admit.ts";
import { EphemeralJobReconciler } from "./reconcile.ts";

export const ephemeralJobKind: Kind<EphemeralJob> = {
  controllerName: "ephemeraljob-controller",
  resource: ephemeralJobResource,
  reconciler: (deps) => new EphemeralJobReconciler(deps),
  changeMatters: () => false,
  webhooks: ephemeralJobWebhooks,
  // Ephemeral containers join running pods; finished jobs end with their time to live.
  access: [
    policyRule("", ["pods/ephemeralcontainers"], ["patch"]),
    policyRule("apps.kruise.io", ["ephemeraljobs"], ["delete"]),
  ],
};
