/** Launch priority: containers of a pod start one level after another. */
export { awaitsLaunch } from "./plan.ts";
export { launchPriorityController } from "./reconcile.ts";
