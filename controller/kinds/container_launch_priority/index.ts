/** Launch priority: containers of a pod start one level after another. */
import { policyRule } from "../../plan/access.ts";
import type { PlainController } from "../../runtime/kind.ts";
import { awaitsLaunch } from "./plan.ts";
import { launchPriorityPodAdmission } from "./pod_admission.ts";
import { LaunchPriorityReconciler } from "./reconcile.ts";

export const launchPriorityController: PlainController = {
  controllerName: "container-launch-priority-controller",
  // Without gate PodWebhook nothing holds new pods back; those of before go on.
  enabled: () => true,
  // The barriers of pods, which no rule can name: those of pods that are gone are collected with them.
  access: [policyRule("", ["configmaps"], ["create", "patch"])],
  keepsPod: awaitsLaunch,
  podAdmission: launchPriorityPodAdmission,
  reconciler: (deps) => new LaunchPriorityReconciler(deps),
};
