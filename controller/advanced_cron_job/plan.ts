/**
 * What an AdvancedCronJob needs now, as a pure function of what is seen: which child is due, which ones go, what is
 * reported. Spec: jobs A4.
 *
 * No run happens twice: a run is its scheduled time, which is in the child's name, and nothing up to the newest known
 * one is run again. That one is remembered in the status, so that children may go. No run is lost by a restart: what
 * was due meanwhile is found from the same memory; of several only the latest is made up for (rule 6).
 */
import {
  type AdvancedCronJob,
  type AdvancedCronJobStatus,
  parseSchedule,
  type Schedule,
  ScheduleError,
} from "../../crds/index.ts";
import { timeOf } from "../../kube/core/index.ts";
import { timestamp } from "../rollout/lifecycle/lifecycle.ts";
import type { Waiting } from "../rollout/writes/actions.ts";
import { childApiVersions, childBody } from "./child_manifest.ts";
import { type Child, type CronJobSeen, cronStrategyOf, type Strategy } from "./observe.ts";
import { type Occurrences, occurrencesOf } from "./occurrences.ts";

export interface CronJobPlan {
  /** To be deleted first, with what they own. */
  readonly deletions: readonly Child[];
  /** To be created once the deletions are done. */
  readonly creation: { kind: Child["kind"]; name: string; body: object } | undefined;
  readonly status: AdvancedCronJobStatus;
  readonly waiting: readonly Waiting[];
  /** When time alone changes the plan; undefined when only events can. */
  readonly requeueAfterMs: number | undefined;
}

/** A time that is further ahead comes from a clock that was wrong: it does not hold up what is due. */
const credibleAheadMs = 24 * 3_600_000;

/** A timer does not notice when the clock is set: after this time it is looked at again. */
const longestSleepMs = 60_000;

export function planAdvancedCronJob(seen: CronJobSeen): CronJobPlan {
  const { job, now } = seen;
  const strategy = cronStrategyOf(job);
  const last = lastScheduled(seen);
  const plan: CronJobPlan = {
    deletions: [],
    creation: undefined,
    status: statusOf(seen, strategy, last),
    waiting: [],
    requeueAfterMs: undefined,
  };
  if (job.metadata.deletionTimestamp !== undefined) return plan;
  const outlived = historyOf(seen.children, strategy);
  if (strategy.kind === undefined) {
    return { ...plan, deletions: outlived, waiting: [malformed("spec.template has no job to start")] };
  }
  if (strategy.paused) return { ...plan, deletions: outlived, waiting: [pausedWaiting] };
  const schedule = scheduleOf(job);
  if (typeof schedule === "string") return { ...plan, deletions: outlived, waiting: [malformed(schedule)] };
  const from = last ?? timeOf(job.metadata.creationTimestamp) ?? now;
  const times = occurrencesOf(schedule, seen.localZone, from);
  const first = times.next(from);
  const missed = first !== undefined && first <= now;
  const next = missed ? times.next(now) : first;
  const base = {
    ...plan,
    deletions: outlived,
    requeueAfterMs: next === undefined ? undefined : Math.min(next - now, longestSleepMs),
    waiting: waitingFor(next),
  };
  const due = missed ? dueTime(times, from, strategy, now) : undefined;
  return due === undefined ? base : start(base, seen, strategy, due);
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

/** The newest time that was run; a child that was made counts even when the status does not know it yet. */
function lastScheduled({ job, children, now }: CronJobSeen): number | undefined {
  const known = [timeOf(job.status?.lastScheduleTime), ...children.map((child) => child.scheduledAt)];
  const credible = known.filter((time) => time !== undefined && time <= now + credibleAheadMs);
  return credible.length === 0 ? undefined : Math.max(...credible.map(Number));
}

/** Rules 6 and 7: the latest time that was missed, unless it is too late for it. */
function dueTime(
  times: Occurrences,
  from: number,
  { deadlineMs }: Strategy,
  now: number,
): number | undefined {
  const latest = times.latest(from, now);
  if (latest === undefined) return undefined;
  return deadlineMs !== undefined && latest + deadlineMs < now ? undefined : latest;
}

/** Rule 8. */
function start(base: CronJobPlan, seen: CronJobSeen, strategy: Strategy, due: number): CronJobPlan {
  const { kind, concurrency } = strategy;
  const active = seen.children.filter((child) => child.state === "active");
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
    creation: childBody(seen.job, kind, due, seen.localZone),
  };
}

/** Rule 9: those that have outlived the limits, oldest first. */
function historyOf(children: readonly Child[], { successLimit, failureLimit }: Strategy): Child[] {
  const outlived = (state: Child["state"], limit: number): Child[] => {
    const ended = children.filter((child) => child.state === state && !child.isGoing).sort(byStart);
    return ended.slice(0, Math.max(0, ended.length - limit));
  };
  return [...outlived("succeeded", successLimit), ...outlived("failed", failureLimit)];
}

function byStart(a: Child, b: Child): number {
  return (a.startedAt ?? a.createdAt) - (b.startedAt ?? b.createdAt) || (a.name < b.name ? -1 : 1);
}

function statusOf(
  { job, children }: CronJobSeen,
  { kind }: Strategy,
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

const pausedWaiting: Waiting = {
  reason: "Paused",
  message: "the cron job is paused",
  until: "spec.paused is false; the latest run that was missed then starts at once",
};

function malformed(message: string): Waiting {
  return { reason: "Malformed", message, until: "the object is changed" };
}

function waitingFor(next: number | undefined): Waiting[] {
  if (next !== undefined) {
    const message = `the next run is due at ${timestamp(next)}`;
    return [{ reason: "Schedule", message, until: "that time comes" }];
  }
  return [
    { reason: "Schedule", message: "no day ever matches the schedule", until: "spec.schedule is changed" },
  ];
}
