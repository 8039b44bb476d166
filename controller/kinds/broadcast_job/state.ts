/** What a plan of a BroadcastJob gets, and what it works out before it decides. Spec: jobs B2, B4. */
import type { BroadcastJob, BroadcastJobStatus } from "../../../crds/index.ts";
import { withTimesNotAhead } from "../../plan/job_times.ts";
import type { PlanInput, PlanState } from "../../rollout/state.ts";
import type { TaskIndex, TaskView } from "./classify.ts";
import type { BroadcastJobCounts } from "./status.ts";
import { type BroadcastJobOptions, type BroadcastJobStrategy, broadcastJobStrategyOf } from "./strategy.ts";

export interface BroadcastJobObserved {
  readonly job: BroadcastJob;
  /** The status that was planned last, or the stored one: what a plan builds on. */
  readonly status: BroadcastJobStatus;
  /** Nodes and pods. */
  readonly pods: TaskIndex;
  /** Whether a pod of the namespace has the name, or is being created under it. */
  isTaken(name: string): boolean;
}

export interface BroadcastJobState
  extends PlanState<BroadcastJobObserved, BroadcastJobOptions, BroadcastJobStrategy, TaskView> {
  readonly counts: BroadcastJobCounts;
}

/** Brings the index of nodes up to now, for one plan: its view is good until the next event. */
export function broadcastJobState({
  observed,
  options,
  now,
  random,
  explains = true,
}: PlanInput<BroadcastJobObserved, BroadcastJobOptions>): BroadcastJobState {
  const pods = observed.pods.refresh();
  const counts = {
    desired: pods.count("desired"),
    active: pods.count("active"),
    succeeded: pods.count("succeeded"),
    failed: pods.count("failed"),
  };
  return {
    observed: { ...observed, status: withTimesNotAhead(observed.status, now) },
    options,
    strategy: broadcastJobStrategyOf(observed.job),
    now,
    random,
    explains,
    pods,
    counts,
  };
}
