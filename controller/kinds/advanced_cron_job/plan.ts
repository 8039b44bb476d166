/**
 * What an AdvancedCronJob needs now, as a pure function of what is seen: which child is due, which ones go, what is
 * reported. Spec: jobs A4.
 *
 * No run happens twice: a run is its scheduled time, which is in the child's name, and nothing up to the newest known
 * one is run again. That one is remembered in the status, so that children may go. No run is lost by a restart: what
 * was due meanwhile is found from the same memory; of several only the latest is made up for (rule 6). Without any memory
 * no more is run than the reference would (`memory.ts`).
 */

import {
  type AdvancedCronJob,
  type AdvancedCronJobStatus,
  parseSchedule,
  type Schedule,
  ScheduleError,
} from "../../../crds/index.ts";
import { timeOf } from "../../../kube/core/index.ts";
import type { ObjectBody } from "../../plan/effects.ts";
import { timestamp } from "../../rollout/lifecycle/lifecycle.ts";
import type { Waiting } from "../../rollout/writes/actions.ts";
import { childApiVersions, childBody } from "./child_manifest.ts";
import { isGivenUp, memoryOf, scheduledSinceOf } from "./memory.ts";
import {
  type AdvancedCronJobObserved,
  type AdvancedCronJobStrategy,
  advancedCronJobStrategyOf,
  type Child,
} from "./observe.ts";
import { type Occurrences, occurrencesOf } from "./occurrences.ts";

export interface CronJobPlan {
  /** To be deleted first, with what they own. */
  readonly deletions: readonly Child[];
  /** To be created once the deletions are done. */
  readonly creation: { kind: Child["kind"]; name: string; body: ObjectBody } | undefined;
  /** To be written as the annotation of that name; undefined: nothing is. */
  readonly scheduledSince: string | undefined;
  readonly status: AdvancedCronJobStatus;
  readonly waiting: readonly Waiting[];
  /** When time alone changes the plan; undefined when only events can. */
  readonly requeueAfterMs: number | undefined;
}

/** A timer does not notice when the clock is set: after this time it is looked at again. */
const longestSleepMs = 60_000;

export function planAdvancedCronJob(observed: AdvancedCronJobObserved): CronJobPlan {
  const { job, now } = observed;
  const strategy = advancedCronJobStrategyOf(job);
  const memory = memoryOf(observed);
  const { last, from } = memory;
  const plan: CronJobPlan = {
    deletions: [],
    creation: undefined,
    scheduledSince: undefined,
    status: statusOf(observed, strategy, last),
    waiting: [],
    requeueAfterMs: undefined,
  };
  if (job.metadata.deletionTimestamp !== undefined) return plan;
  const rest = { ...plan, deletions: historyOf(observed, strategy, last) };
  const schedule = scheduleOf(job);
  if (strategy.kind === undefined)
    return { ...rest, waiting: [malformed("spec.template has no job to start")] };
  if (typeof schedule === "string")
    return { ...rest, waiting: [strategy.paused ? paused("") : malformed(schedule)] };
  const times = occurrencesOf(schedule, observed.localZone, from);
  if (isGivenUp(memory, times, strategy, now)) {
    const waiting = tooManyMissed(from);
    return { ...rest, waiting: strategy.paused ? [paused(""), waiting] : [waiting] };
  }
  const followed = { ...rest, scheduledSince: scheduledSinceOf(memory, times, strategy, now) };
  if (strategy.paused) return { ...followed, waiting: [paused(catchingUp)] };
  const first = times.next(from);
  const missed = first !== undefined && first <= now;
  const next = missed ? times.next(now) : first;
  const base = {
    ...followed,
    requeueAfterMs: next === undefined ? undefined : Math.min(next - now, longestSleepMs),
    waiting: waitingFor(next),
  };
  const due = missed ? dueTime(times, from, strategy, now) : undefined;
  return due === undefined ? base : start(base, observed, strategy, due);
}

/** The schedule, or why there is none: objects stored before a rule was made may have any text. */
function scheduleOf({ spec }: AdvancedCronJob): Schedule | string {
  try {
    return parseSchedule(spec.schedule, spec.timeZone ?? undefined);
  } catch (error) {
    if (error instanceof ScheduleError) return `spec.schedule cannot be read: ${error.message}`;
    throw error;
  }
}

/** Rules 6 and 7: the latest time that was missed, unless it is too late for it. */
function dueTime(
  times: Occurrences,
  from: number,
  { deadlineMs }: AdvancedCronJobStrategy,
  now: number,
): number | undefined {
  const latest = times.latest(from, now);
  if (latest === undefined) return undefined;
  return deadlineMs !== undefined && latest + deadlineMs < now ? undefined : latest;
}

/** Rule 8. */
function start(
  base: CronJobPlan,
  observed: AdvancedCronJobObserved,
  strategy: AdvancedCronJobStrategy,
  due: number,
): CronJobPlan {
  const { kind, concurrency } = strategy;
  const active = observed.children.filter((child) => child.state === "active");
  if (kind === undefined) return base;
  if (concurrency === "Forbid" && active.length > 0) {
    const waiting: Waiting = {
      reason: "Active",
      message: `the run of ${timestamp(due)} waits for ${active.map((child) => child.name).join(", ")}`,
      until: "it ends; concurrencyPolicy is Forbid",
    };
    return { ...base, waiting: [waiting, ...base.waiting] };
  }
  const replaced = concurrency === "Replace" ? active.filter((child) => !child.isGoing) : [];
  return {
    ...base,
    deletions: [...base.deletions, ...replaced],
    creation: childBody(observed.job, kind, due, observed.localZone),
  };
}

/**
 * Rule 9: those that have outlived the limits, oldest first. One that alone tells of the last run stays until the status does: it would
 * be run again.
 */
function historyOf(
  { job: { status }, children }: AdvancedCronJobObserved,
  { successLimit, failureLimit }: AdvancedCronJobStrategy,
  last: number | undefined,
): Child[] {
  const outlived = (state: Child["state"], limit: number): Child[] => {
    const ended = children.filter((child) => child.state === state && !child.isGoing).sort(byStart);
    return ended.slice(0, Math.max(0, ended.length - limit));
  };
  const all = [...outlived("succeeded", successLimit), ...outlived("failed", failureLimit)];
  const isRemembered = timeOf(status?.lastScheduleTime) === last;
  return all.filter(({ scheduledAt }) => isRemembered || scheduledAt !== last);
}

function byStart(a: Child, b: Child): number {
  return (a.startedAt ?? a.createdAt) - (b.startedAt ?? b.createdAt) || (a.name < b.name ? -1 : 1);
}

function statusOf(
  { job, children }: AdvancedCronJobObserved,
  { kind }: AdvancedCronJobStrategy,
  last: number | undefined,
): AdvancedCronJobStatus {
  const active = children.filter((child) => child.state === "active").sort(byStart);
  const before = job.status?.active ?? [];
  const { namespace = "" } = job.metadata;
  const lastScheduleTime = last === undefined ? job.status?.lastScheduleTime : timestamp(last);
  return {
    ...(kind === undefined ? {} : { type: kind }),
    ...(active.length === 0
      ? {}
      : {
          // A reference once made stays as it is: its version is of no use to anybody.
          active: active.map(
            (child) => before.find((reference) => reference.uid === child.uid) ?? reference(child, namespace),
          ),
        }),
    ...(lastScheduleTime === undefined ? {} : { lastScheduleTime }),
  };
}

function reference({ kind, name, uid, resourceVersion }: Child, namespace: string) {
  return { apiVersion: childApiVersions[kind], kind, name, namespace, resourceVersion, uid };
}

const catchingUp = "; the latest run that was missed then starts at once";

function paused(then: string): Waiting {
  return { reason: "Paused", message: "the cron job is paused", until: `spec.paused is false${then}` };
}

/** Words of the reference, of its log, and of the event of native cron jobs. */
function tooManyMissed(since: number): Waiting {
  return {
    reason: "TooManyMissedTimes",
    message: `too many missed start times (> 100) since ${timestamp(since)}, and nothing tells that it ever ran: no run is started`,
    until: "spec.startingDeadlineSeconds is set or decreased; it then goes on with its next time",
  };
}

function malformed(message: string): Waiting {
  return { reason: "Malformed", message, until: "the object is changed" };
}

function waitingFor(next: number | undefined): Waiting[] {
  if (next !== undefined) {
    const message = `the next run is due at ${timestamp(next)}`;
    return [{ reason: "Schedule", message, until: "that time comes" }];
  }
  return [
    { reason: "NeverDue", message: "no day ever matches the schedule", until: "spec.schedule is changed" },
  ];
}
