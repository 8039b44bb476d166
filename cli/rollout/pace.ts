/** How long a rollout still takes, if it goes on as it went so far. Pure. */

export interface Sample {
  /** Milliseconds of a clock that only goes forward. */
  readonly at: number;
  /** Pods that were done then. */
  readonly done: number;
}

/** Beyond it nothing is forecast: what stands still has no pace. */
const longestStandMs = 60_000;

/** What was seen of one rollout: the first sample of it, and the newest that got further. */
export interface Pace {
  readonly first: Sample;
  readonly newest: Sample;
}

/** `pace` with one sample more; a rollout that has fewer pods done than before is another one. */
export function paced(pace: Pace | undefined, sample: Sample): Pace {
  if (pace === undefined || sample.done < pace.newest.done) return { first: sample, newest: sample };
  return sample.done > pace.newest.done ? { first: pace.first, newest: sample } : pace;
}

/** Milliseconds until `total` pods are done; undefined where nothing tells yet, or no more. */
export function remainingMs({ first, newest }: Pace, total: number, now: number): number | undefined {
  const gained = newest.done - first.done;
  if (gained <= 0 || now - newest.at > longestStandMs) return undefined;
  const perPod = (newest.at - first.at) / gained;
  return Math.max(0, Math.round(perPod * (total - newest.done) - (now - newest.at)));
}
