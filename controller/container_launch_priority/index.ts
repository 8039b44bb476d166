/** Launch priority: containers of a pod start one level after another. */
import { policyRule } from "../access.ts";
import type { PlainController } from "../kind.ts";
import { LaunchPriorityReconciler } from "./reconcile.ts";

export { awaitsLaunch } from "./plan.ts";

export const launchPriorityController: PlainController = {
  controllerName: "container-launch-priority-controller",
  // Without gate PodWebhook nothing holds new pods back; those of before go on.
  enabled: () => true,
  // The barriers of pods.
  access: [policyRule("", ["configmaps"], ["get", "create", "patch", "delete"])],
  reconciler: (deps) => new LaunchPriorityReconciler(deps),
};
