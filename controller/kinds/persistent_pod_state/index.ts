import type { PersistentPodState } from "../../../crds/index.ts";
import { policyRule } from "../../plan/access.ts";
import { persistentPodStateResource } from "../../plan/resources.ts";
import type { Kind } from "../../runtime/kind.ts";
import { persistentPodStateWebhooks } from "./admit.ts";
import { persistentPodStatePodAdmission } from "./pod_admission.ts";
import { PersistentPodStateReconciler } from "./reconcile.ts";

export const persistentPodStateKind: Kind<PersistentPodState> = {
  controllerName: "persistentpodstate-controller",
  workersFlag: "persistentpodstate-workers",
  resource: persistentPodStateResource,
  reconciler: (deps) => new PersistentPodStateReconciler(deps),
  changeMatters: () => false,
  webhooks: persistentPodStateWebhooks,
  podAdmission: persistentPodStatePodAdmission,
  // Made and removed as the annotations of StatefulSets, native ones too, ask for it.
  access: [policyRule("apps.kruise.io", ["persistentpodstates"], ["create", "delete"])],
};
