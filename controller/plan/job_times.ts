/** From when the deadline of a job is counted, and its time to live. */
import { notAhead } from "../../kube/core/index.ts";

interface JobTimes {
  readonly startTime?: string;
  readonly completionTime?: string;
}

/**
 * The status with times of which none lies ahead of `now` (milliseconds since the epoch), as it is to be stored; the very
 * object when none does.
 */
export function withTimesNotAhead<T extends JobTimes>(status: T, now: number): T {
  const { startTime, completionTime } = status;
  const times = { startTime: notAhead(startTime, now), completionTime: notAhead(completionTime, now) };
  if (times.startTime === startTime && times.completionTime === completionTime) return status;
  return {
    ...status,
    ...(startTime === undefined ? {} : { startTime: times.startTime }),
    ...(completionTime === undefined ? {} : { completionTime: times.completionTime }),
  };
}
