/**
 * What is known of a cron job's past, from what is stored alone: a restart of the controller sees it for the first time, too.
 * Where nothing tells of a run, and more times were missed than the reference counts, nothing is run: in the reference it
 * has stopped for good, maybe months ago. What is followed from the beginning is told apart by an annotation. Spec: jobs
 * A4.6, A4.13.
 */
import { timeOf } from "../../../kube/core/index.ts";
import { timestamp } from "../../rollout/lifecycle/lifecycle.ts";
import type { AdvancedCronJobObserved, AdvancedCronJobStrategy } from "./observe.ts";
import type { Occurrences } from "./occurrences.ts";

/** On a cron job that has run nothing yet: the time from which it counts, however many times it has missed since. */
export const scheduledSinceAnnotation = "refit.dev/scheduled-since";

/** More of them are too many. */
const mostMissed = 100;

/** A time that is further ahead comes from a clock that was wrong: it does not hold up what is due. */
const credibleAheadMs = 24 * 3_600_000;

export interface Memory {
  /** The newest time that was run. */
  readonly last: number | undefined;
  /** Times after it are due. */
  readonly from: number;
  /** Nothing tells of a run, or that it is followed. */
  readonly isEmpty: boolean;
}

export function memoryOf({ job: { metadata, status }, children, now }: AdvancedCronJobObserved): Memory {
  const ran = [timeOf(status?.lastScheduleTime), ...children.map((child) => child.scheduledAt)].filter(
    (time) => time !== undefined,
  );
  // A child that was made counts even when the status does not know it yet.
  const credible = ran.filter((time) => time <= now + credibleAheadMs);
  const last = credible.length === 0 ? undefined : Math.max(...credible);
  const since = timeOf(metadata.annotations?.[scheduledSinceAnnotation]);
  const created = timeOf(metadata.creationTimestamp) ?? now;
  // One from before the creation is another object's: manifests are copied and restored with their annotations.
  const from = last ?? Math.max(since ?? created, created);
  return { last, from, isEmpty: ran.length === 0 && since === undefined };
}

/** Nothing is run until the object is changed (rule 6). */
export function isGivenUp(
  { from, isEmpty }: Memory,
  times: Occurrences,
  { deadlineMs }: AdvancedCronJobStrategy,
  now: number,
): boolean {
  if (!isEmpty) return false;
  const earliest = deadlineMs === undefined ? from : Math.max(from, now - deadlineMs);
  return times.exceeds(mostMissed, earliest, now);
}

/**
 * What the annotation is to say; undefined: nothing. It is written while one that is not given up is on its way to be: at once
 * to one that is paused, of which nobody looks at the clock, and to one that nothing comes of for half of the times.
 */
export function scheduledSinceOf(
  { from, isEmpty }: Memory,
  times: Occurrences,
  { paused }: AdvancedCronJobStrategy,
  now: number,
): string | undefined {
  return isEmpty && (paused || times.exceeds(mostMissed / 2, from, now)) ? timestamp(from) : undefined;
}
