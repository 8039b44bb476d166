/**
 * What a BroadcastJob needs now, as a pure function of what is seen: no I/O, no clock, no chance of its own.
 * Spec: jobs B4, in the order of a pass: over, deadline and failure, pause, then pods.
 */
import type { BroadcastJob, BroadcastJobStatus } from "../../../crds/index.ts";
import { KRUISE_READY } from "../../rollout/pods/pod_state.ts";
import type { Action, ObjectEvent, Plan } from "../../rollout/writes/actions.ts";
import { afterChange, type PodChange, podPatch } from "../../rollout/writes/pod_patch.ts";
import {
  awaitsReadiness,
  countingOn,
  misplacedOn,
  type Task,
  type TaskIndex,
  type TaskNode,
  type TaskView,
} from "./classify.ts";
import { type BroadcastJobOptions, type Strategy, strategyOf } from "./observe.ts";
import { createPod } from "./pod_manifest.ts";
import { type Counts, ended, finalCondition, jobKey, ongoing } from "./status.ts";
import { waitingOf } from "./waiting.ts";

export interface BroadcastJobPlan extends Plan<BroadcastJobStatus> {
  /** Warnings about a state that lasts: to be reported once, when it begins. */
  readonly warnings: readonly ObjectEvent[];
}

export interface BroadcastJobObserved {
  job: BroadcastJob;
  /** The status that was planned last, or the stored one: what a plan builds on. */
  status: BroadcastJobStatus;
  /** Nodes and pods. */
  pods: TaskIndex;
  /** Whether a pod of the namespace has the name, or is being created under it. */
  isTaken(name: string): boolean;
}

interface PassInput {
  observed: BroadcastJobObserved;
  options: BroadcastJobOptions;
  /** Milliseconds since the epoch. */
  now: number;
  random: () => number;
}

/** What a plan is made of. */
interface BroadcastJobPass extends Omit<PassInput, "observed"> {
  observed: Omit<BroadcastJobObserved, "pods">;
  pods: TaskView;
}

/** Brings the index of nodes up to now, for one plan: its view is good until the next event. */
export function broadcastJobState(input: PassInput): BroadcastJobPass {
  return { ...input, pods: input.observed.pods.refresh() };
}

export function planBroadcastJob(state: BroadcastJobPass): BroadcastJobPlan {
  const { observed, now, pods } = state;
  const strategy = strategyOf(observed.job);
  if (observed.job.metadata.deletionTimestamp !== undefined) return idle(observed.status);
  const refresh = readinessOf(pods, now);
  const over = finalCondition(observed.status);
  if (over !== undefined) return planOver(state, strategy, pods, refresh, over.type === "Failed");
  const counts = countsOf(pods);
  const failure = failureOf(state, strategy, counts);
  if (failure !== undefined) return fail(state, pods, counts, refresh, failure);
  const held = strategy.paused || (strategy.failurePolicy === "Pause" && counts.failed > 0);
  const requeueAfterMs = untilDeadline(state, strategy);
  if (held) return hold(state, strategy, pods, counts, refresh);
  return goOn(state, strategy, pods, counts, refresh, requeueAfterMs);
}

function idle(status: BroadcastJobStatus): BroadcastJobPlan {
  return { actions: [], status, waiting: [], warnings: [], requeueAfterMs: undefined };
}

function countsOf(pods: TaskView): Counts {
  return {
    desired: pods.count("desired"),
    active: pods.count("active"),
    succeeded: pods.count("succeeded"),
    failed: pods.count("failed"),
  };
}

function noted<T>(pods: TaskView, pick: (node: TaskNode) => readonly T[]): T[] {
  return [...pods.entries(pods.groups.noted)].flatMap(pick);
}

function readinessOf(pods: TaskView, now: number): Action[] {
  return noted(pods, ({ tasks }) => tasks).flatMap((task): Action[] => {
    if (task.busy || !awaitsReadiness(task)) return [];
    const { pod } = task;
    const change: PodChange = { conditions: [{ type: KRUISE_READY, status: "True" }] };
    // True whatever the pod's status says by now, so only the UID is a precondition: the scheduler writes at that time.
    const patch = podPatch(pod, change, now, { subresource: "status" });
    const write = { steps: [patch], after: afterChange(pod, change, now) };
    return [{ type: "patch pod", pod, write, concern: "refresh" }];
  });
}

/** Rules 10 and 11: nothing changes any more; what a failed job left alive goes, the job itself when its time is over. */
function planOver(
  { observed, now }: BroadcastJobPass,
  { ttlMs }: Strategy,
  pods: TaskView,
  refresh: readonly Action[],
  failed: boolean,
): BroadcastJobPlan {
  const status = observed.status;
  const left = failed ? living(pods) : [];
  const end = dueTime(status.completionTime, ttlMs);
  if (end !== undefined && end <= now) {
    return { ...idle(status), actions: [{ type: "delete workload" }] };
  }
  return {
    ...idle(status),
    actions: [...withoutVictims(refresh, left), ...deletions(left)],
    requeueAfterMs: end === undefined ? undefined : end - now,
  };
}

/** Times have a precision of seconds, rounded down: one more second passes, unless there is nothing to wait for. */
function dueTime(completionTime: string | undefined, ttlMs: number | undefined): number | undefined {
  if (ttlMs === undefined || completionTime === undefined) return undefined;
  const completed = Date.parse(completionTime);
  return ttlMs === 0 ? completed : completed + ttlMs + 1000;
}

interface Failure {
  message: string;
  /** Reason of the event. */
  reason: string;
  /** The event is reported twice: when the failure is found, and when the pods are deleted (rule 6). */
  foundFirst: boolean;
}

/** Rules 6 and 10. A job on hold neither fails nor runs out of time (rules 8, 9). */
function failureOf(
  { observed, now }: BroadcastJobPass,
  strategy: Strategy,
  counts: Counts,
): Failure | undefined {
  if (strategy.paused) return undefined;
  if (counts.failed > 0 && strategy.failurePolicy === "Pause") return undefined;
  if (counts.failed > 0 && strategy.failurePolicy === "FailFast") {
    const message = "failure policy is FailurePolicyTypeFailFast and failed pod is found";
    return { message, reason: "failed pod is found", foundFirst: true };
  }
  const { deadlineMs } = strategy;
  const started = Date.parse(observed.status.startTime ?? "");
  if (deadlineMs === undefined || Number.isNaN(started) || now - started < deadlineMs) return undefined;
  const message = `Job ${jobKey(observed.job)} was active longer than specified deadline`;
  return { message, reason: "DeadlineExceeded", foundFirst: false };
}

function fail(
  { observed, now }: BroadcastJobPass,
  pods: TaskView,
  counts: Counts,
  refresh: readonly Action[],
  { message, reason, foundFirst }: Failure,
): BroadcastJobPlan {
  const reported = ({ succeeded, failed }: Counts): Action => ({
    type: "event",
    event: {
      type: "Warning",
      reason,
      message: `${message}: ${succeeded} pods succeeded, ${failed} pods failed`,
    },
  });
  // Every pod that is stopped here counts as failed; one over its restart limit counts already.
  const last = { ...counts, active: 0, failed: counts.failed + counts.active };
  const victims = living(pods);
  return {
    ...idle(ended(observed.status, last, "Failed", message, now)),
    actions: [
      ...withoutVictims(refresh, victims),
      ...(foundFirst ? [reported(counts)] : []),
      ...deletions(victims),
      reported(last),
    ],
    // Pods with a write in flight are deleted by the next pass.
    requeueAfterMs: undefined,
  };
}

function living(pods: TaskView): Task[] {
  const tasks = [...pods.every()].flatMap((node) => node.tasks);
  return tasks.filter(({ state }) => state === "active" || state === "over");
}

function deletions(tasks: readonly Task[]): Action[] {
  return tasks.flatMap(({ pod, busy }): Action[] => {
    if (busy) return [];
    return [
      {
        type: "delete pod",
        pod,
        claims: [],
        succeeded: { type: "Normal", reason: "SuccessfulDelete", message: `Delete pod: ${pod.name}` },
        failed: { reason: "FailedDelete", message: `Error deleting pod ${pod.name}` },
      },
    ];
  });
}

/** A pod that is being deleted needs no other write. */
function withoutVictims(refresh: readonly Action[], victims: readonly Task[]): Action[] {
  const names = new Set(victims.map(({ pod }) => pod.name));
  return refresh.filter((action) => action.type !== "patch pod" || !names.has(action.pod.name));
}

/** Rules 8 and 9: nothing is created or deleted. */
function hold(
  { observed, now }: BroadcastJobPass,
  strategy: Strategy,
  pods: TaskView,
  counts: Counts,
  refresh: readonly Action[],
): BroadcastJobPlan {
  const event: Action = {
    type: "event",
    event: { type: "Warning", reason: "Paused", message: "job is paused, due to failed pod" },
  };
  const begins = !strategy.paused && observed.status.phase !== "paused";
  return {
    ...idle(ongoing(observed.status, counts, "paused", now)),
    actions: begins ? [...refresh, event] : [...refresh],
    get waiting() {
      return waitingOf(pods, strategy, 0);
    },
  };
}

function goOn(
  state: BroadcastJobPass,
  strategy: Strategy,
  pods: TaskView,
  counts: Counts,
  refresh: readonly Action[],
  requeueAfterMs: number | undefined,
): BroadcastJobPlan {
  const { observed, now } = state;
  const events: Action[] = [];
  if (observed.status.phase === "paused") {
    events.push({
      type: "event",
      event: { type: "Normal", reason: "Continue", message: "continue to process job" },
    });
  }
  if (isComplete(pods, strategy)) return complete(state, counts, [...refresh, ...events]);
  const limit = strategy.parallelism(counts.desired);
  const room = Math.max(0, limit - pods.count("occupying"));
  const chosen = new Set<string>();
  const { job, isTaken } = observed;
  const { missing } = pods.groups;
  const creations = missing.first(room).map((node) => createPod({ ...state, job, node, isTaken, chosen }));
  const held = missing.size - creations.length;
  const misplaced = noted(pods, misplacedOn);
  return {
    actions: [...withoutVictims(refresh, misplaced), ...events, ...deletions(misplaced), ...creations],
    status: ongoing(observed.status, counts, "running", now),
    get waiting() {
      return waitingOf(pods, strategy, held);
    },
    warnings: lastingWarnings(pods, limit),
    requeueAfterMs,
  };
}

/** Rule 4: every node has a pod, and none of these is still at work. */
function isComplete(pods: TaskView, { endless }: Strategy): boolean {
  return !endless && pods.count("desired") > 0 && pods.count("unfinished") === 0;
}

function complete(
  { observed, now }: BroadcastJobPass,
  counts: Counts,
  before: readonly Action[],
): BroadcastJobPlan {
  const { succeeded, failed } = counts;
  const sums = `${succeeded} pods succeeded, ${failed} pods failed`;
  const event: Action = {
    type: "event",
    event: {
      type: "Normal",
      reason: "JobComplete",
      message: `Job ${jobKey(observed.job)} is completed, ${sums}`,
    },
  };
  return {
    ...idle(ended(observed.status, counts, "Complete", `Job completed, ${sums}`, now)),
    actions: [...before, event],
  };
}

/** The deadline is watched in every pass, so that no restart of this program forgets it. */
function untilDeadline({ observed, now }: BroadcastJobPass, { deadlineMs }: Strategy): number | undefined {
  if (deadlineMs === undefined) return undefined;
  const started = Date.parse(observed.status.startTime ?? "");
  return Math.max(0, (Number.isNaN(started) ? now : started) + deadlineMs - now);
}

function lastingWarnings(pods: TaskView, limit: number): ObjectEvent[] {
  const warnings = noted(pods, (node) =>
    countingOn(node).duplicates.map(
      ({ name }): ObjectEvent => ({
        type: "Warning",
        reason: "DuplicatePodCreatedOnSameNode",
        message: `Duplicated pod ${name} found on same node ${node.name}`,
      }),
    ),
  );
  if (pods.count("occupying") > limit) {
    const message = "Number of active pods exceed parallelism limit";
    warnings.push({ type: "Warning", reason: "TooManyActivePods", message });
  }
  return warnings;
}
