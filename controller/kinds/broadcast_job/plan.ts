/**
 * What a BroadcastJob needs now, as a pure function of what is seen: no I/O, no clock, no chance of its own.
 * Spec: jobs B4, in the order of a pass: over, deadline and failure, pause, then pods.
 */
import type { BroadcastJobStatus } from "../../../crds/index.ts";
import type { EventEffect, ObjectEvent } from "../../plan/effects.ts";
import type { Decisions } from "../../rollout/decisions.ts";
import { deleteWorkload } from "../../rollout/writes/workload_actions.ts";
import { countingOn, misplacedOn, noted, type Task, type TaskView } from "./classify.ts";
import { BroadcastJobDecisions, type BroadcastJobPlan } from "./decisions.ts";
import { planRefresh } from "./refresh.ts";
import { living, planDeletions, planScale } from "./scale.ts";
import type { BroadcastJobState } from "./state.ts";
import { type BroadcastJobCounts, ended, finalCondition, jobKey, ongoing } from "./status.ts";
import { waitingOf } from "./waiting.ts";

export function planBroadcastJob(state: BroadcastJobState): BroadcastJobPlan {
  const { job, status } = state.observed;
  const decisions = new BroadcastJobDecisions();
  const isStaying = job.metadata.deletionTimestamp === undefined;
  return decisions.plan(isStaying ? decide(state, decisions) : status, state);
}

/** The status that goes with what is decided. What is to be deleted is decided before anything else is done to pods. */
function decide(state: BroadcastJobState, decisions: BroadcastJobDecisions): BroadcastJobStatus {
  const { strategy, counts } = state;
  const over = finalCondition(state.observed.status);
  if (over !== undefined) return planOver(state, decisions, over.type === "Failed");
  const failure = failureOf(state);
  if (failure !== undefined) return fail(state, decisions, failure);
  const isHeld = strategy.paused || (strategy.failurePolicy === "Pause" && counts.failed > 0);
  return isHeld ? hold(state, decisions) : goOn(state, decisions);
}

/** Rules 10 and 11: nothing changes any more; what a failed job left alive goes, the job itself when its time is over. */
function planOver(state: BroadcastJobState, decisions: Decisions, hasFailed: boolean): BroadcastJobStatus {
  const { status, job } = state.observed;
  const end = dueTime(status.completionTime, state.strategy.ttlMs);
  if (end !== undefined && end <= state.now) {
    decisions.take(deleteWorkload(job.metadata.name ?? ""));
    return status;
  }
  const isStored = finalCondition(job.status ?? {}) !== undefined;
  if (hasFailed) planDeletions(isStored ? living(state.pods) : active(state), decisions.last);
  planRefresh(state, decisions);
  if (end !== undefined) decisions.requeueAfter(end - state.now);
  return status;
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
function failureOf({ observed, strategy, counts, now }: BroadcastJobState): Failure | undefined {
  if (strategy.paused) return undefined;
  if (counts.failed > 0 && strategy.failurePolicy === "Pause") return undefined;
  if (counts.failed > 0 && strategy.failurePolicy === "FailFast") {
    const message = "failure policy is FailurePolicyTypeFailFast and failed pod is found";
    return { message, reason: "failed pod is found", foundFirst: true };
  }
  if (untilDeadline({ observed, strategy, now }) !== 0) return undefined;
  const message = `Job ${jobKey(observed.job)} was active longer than specified deadline`;
  return { message, reason: "DeadlineExceeded", foundFirst: false };
}

function fail(
  state: BroadcastJobState,
  decisions: Decisions,
  { message, reason, foundFirst }: Failure,
): BroadcastJobStatus {
  const { counts } = state;
  const reported = ({ succeeded, failed }: BroadcastJobCounts): EventEffect => ({
    type: "event",
    event: {
      type: "Warning",
      reason,
      message: `${message}: ${succeeded} pods succeeded, ${failed} pods failed`,
    },
  });
  planDeletions(active(state), decisions.last);
  planRefresh(state, decisions);
  if (foundFirst) decisions.take(reported(counts));
  // Every pod that is stopped here counts as failed; one over its restart limit counts already.
  const last = { ...counts, active: 0, failed: counts.failed + counts.active };
  decisions.last.take(reported(last));
  return ended(state.observed.status, last, "Failed", message, state.now);
}

/** A pod over its restart limit may be all that says why the job fails: it goes once its status says so. */
function active({ pods }: BroadcastJobState): Task[] {
  return living(pods).filter(({ state }) => state === "active");
}

/** Rules 8 and 9: nothing is created or deleted. */
function hold(state: BroadcastJobState, decisions: Decisions): BroadcastJobStatus {
  const { observed, strategy, counts, now } = state;
  planRefresh(state, decisions);
  if (!strategy.paused && observed.status.phase !== "paused") {
    const message = "job is paused, due to failed pod";
    decisions.take({ type: "event", event: { type: "Warning", reason: "Paused", message } });
  }
  decisions.wait(() => waitingOf(state, 0));
  return ongoing(observed.status, counts, "paused", now);
}

function goOn(state: BroadcastJobState, decisions: BroadcastJobDecisions): BroadcastJobStatus {
  const { observed, pods, strategy, counts, now } = state;
  if (isComplete(state)) {
    planRefresh(state, decisions);
    reportContinue(state, decisions);
    return complete(state, decisions);
  }
  const limit = strategy.parallelism(counts.desired);
  const held = planScale(state, decisions.last, limit);
  planRefresh(state, decisions);
  reportContinue(state, decisions);
  decisions.wait(() => waitingOf(state, held));
  decisions.warnings.push(...lastingWarnings(pods, limit));
  decisions.requeueAfter(untilDeadline(state));
  return ongoing(observed.status, counts, "running", now);
}

function reportContinue({ observed }: BroadcastJobState, decisions: Decisions): void {
  if (observed.status.phase !== "paused") return;
  const message = "continue to process job";
  decisions.take({ type: "event", event: { type: "Normal", reason: "Continue", message } });
}

/** Rule 4: every node has a pod, and none of these is still at work. What is to go is deleted before: nobody would do it after. */
function isComplete({ pods, strategy }: BroadcastJobState): boolean {
  const isDone = !strategy.endless && pods.count("desired") > 0 && pods.count("unfinished") === 0;
  return isDone && pods.count("leaving") === 0 && noted(pods, misplacedOn).length === 0;
}

function complete({ observed, counts, now }: BroadcastJobState, decisions: Decisions): BroadcastJobStatus {
  const { succeeded, failed } = counts;
  const sums = `${succeeded} pods succeeded, ${failed} pods failed`;
  const message = `Job ${jobKey(observed.job)} is completed, ${sums}`;
  decisions.take({ type: "event", event: { type: "Normal", reason: "JobComplete", message } });
  return ended(observed.status, counts, "Complete", `Job completed, ${sums}`, now);
}

/** The deadline is watched in every pass, so that no restart of this program forgets it. A job starts with its first one. */
function untilDeadline({
  observed,
  strategy: { deadlineMs },
  now,
}: Pick<BroadcastJobState, "observed" | "strategy" | "now">): number | undefined {
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
