/** Conditions of a status, and times as the API writes them. */
import { ParseError } from "./errors.ts";
import type { Condition } from "./types.ts";

/** RFC 3339 in UTC with whole seconds, from milliseconds since the epoch: `2023-03-01T03:45:33Z`. */
export function formatTime(ms: number): string {
  return `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}

/** RFC 3339 in UTC with microseconds, as leases carry it. */
export function formatMicroTime(ms: number): string {
  const micros = Math.round((ms - Math.floor(ms)) * 1000) % 1000;
  return `${new Date(Math.floor(ms)).toISOString().slice(0, 23)}${String(micros).padStart(3, "0")}Z`;
}

const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** Milliseconds since the epoch; undefined for what is absent or no time. */
export function timeOf(text: string | undefined | null): number | undefined {
  const ms = timePattern.test(text ?? "") ? Date.parse(text ?? "") : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/**
 * A stored time from which something is counted, as it is to be stored from now on. One that lies ahead was written by a clock
 * that was wrong: it becomes `now` (milliseconds since the epoch), once, so that nobody waits until it has come.
 */
export function notAhead<T extends string | undefined | null>(text: T, now: number): T | string {
  return (timeOf(text) ?? now) > now ? formatTime(now) : text;
}

/** The condition with a `lastTransitionTime` that is not ahead; the very object when it was not. */
export function transitionNotAhead<T extends { readonly lastTransitionTime?: string | undefined }>(
  condition: T,
  now: number,
): T {
  const lastTransitionTime = notAhead(condition.lastTransitionTime, now);
  return lastTransitionTime === condition.lastTransitionTime
    ? condition
    : { ...condition, lastTransitionTime };
}

/** Milliseconds since the epoch. Throws ParseError `InvalidTime` for anything but RFC 3339. */
export function parseTime(text: string): number {
  const ms = timeOf(text);
  if (ms === undefined)
    throw new ParseError("InvalidTime", `${JSON.stringify(text)} is not an RFC 3339 time`);
  return ms;
}

export function findCondition<T extends { readonly type: string }>(
  conditions: readonly T[] | undefined | null,
  type: string,
): T | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function isConditionTrue(
  conditions: readonly { readonly type: string; readonly status: string }[] | undefined | null,
  type: string,
): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/**
 * The list with `next` in the place of the condition of its type, or at the end. `lastTransitionTime` becomes `now`
 * (milliseconds) unless the status stays; an explicit one is kept. The given list is not changed, and it is
 * returned itself if nothing differs.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined | null,
  next: Condition,
  now: number,
): readonly Condition[] {
  const list = conditions ?? [];
  const present = findCondition(list, next.type);
  const transition = present?.status === next.status ? present.lastTransitionTime : formatTime(now);
  const updated: Condition = {
    ...next,
    lastTransitionTime: next.lastTransitionTime ?? transition ?? formatTime(now),
  };
  if (present === undefined) return [...list, updated];
  if (sameCondition(present, updated)) return list;
  return list.map((condition) => (condition === present ? updated : condition));
}

const compared = [
  "status",
  "reason",
  "message",
  "lastTransitionTime",
  "lastUpdateTime",
  "lastProbeTime",
  "observedGeneration",
] as const;

function sameCondition(left: Condition, right: Condition): boolean {
  return compared.every((key) => left[key] === right[key]);
}
