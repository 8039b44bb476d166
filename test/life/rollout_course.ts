/** What a recorded rollout in place shows about who carried it out. Pure. */

import type { Moment } from "../cases/trail.ts";
import type { Item } from "../cluster/api.ts";

export interface RolloutCourse {
  /** Pods that got the image. */
  readonly updated: number;
  /** Longest time without one that got it, in milliseconds, from `since` until the last did. */
  readonly longestPauseMs: number;
}

/** `since`: when the image was asked for, in milliseconds since the Unix epoch. */
export function courseOfRollout(moments: readonly Moment[], image: string, since: number): RolloutCourse {
  const updated = new Set<string>();
  let last = since;
  let longestPauseMs = 0;
  for (const { at, type, object } of moments) {
    if (type === "DELETED" || object.spec?.containers?.[0]?.image !== image) continue;
    if (updated.has(object.metadata.uid)) continue;
    updated.add(object.metadata.uid);
    longestPauseMs = Math.max(longestPauseMs, at - last);
    last = at;
  }
  return { updated: updated.size, longestPauseMs };
}

/** UIDs and how often the first container was restarted, by name: what a rollout in place adds one to. */
export function restartsOf(pods: readonly Item[]): Map<string, { uid: string; restarts: number }> {
  return new Map(
    pods.map(({ metadata, status }) => [
      metadata.name,
      { uid: metadata.uid, restarts: status?.containerStatuses?.[0]?.restartCount ?? 0 },
    ]),
  );
}

/** Names of pods that are not what they were before but for `times` restarts each. */
export function otherwiseChanged(before: readonly Item[], after: readonly Item[], times: number): string[] {
  const now = restartsOf(after);
  const gone = [...restartsOf(before)].filter(([name, { uid, restarts }]) => {
    const found = now.get(name);
    return found?.uid !== uid || found.restarts !== restarts + times;
  });
  const known = restartsOf(before);
  return [...gone.map(([name]) => name), ...[...now.keys()].filter((name) => !known.has(name))];
}
