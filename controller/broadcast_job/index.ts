/** BroadcastJob: a pod to its end on each suitable node. */
export { TaskIndex } from "./classify.ts";
export { eligibility as broadcastJobEligibility } from "./node_eligibility.ts";
export {
  type BroadcastJobOptions,
  type BroadcastJobSeen,
  strategyOf as broadcastJobStrategy,
} from "./observe.ts";
export { type BroadcastJobPlan, planBroadcastJob } from "./plan.ts";
export { broadcastJobOptions, broadcastJobShell } from "./reconcile.ts";
