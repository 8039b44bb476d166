/**
 * The times that a schedule means. cron-parser walks the calendar: a local time that is skipped in spring happens an
 * hour later, one that comes twice in autumn happens once, wildcard hours happen in every hour. Spec: jobs A4.
 */
import { type CronExpression, CronExpressionParser } from "cron-parser";
import { everFires, type FieldValues, type Schedule } from "../../../crds/index.ts";

export interface Occurrences {
  /** The first time after `after`; undefined if there never is one. Milliseconds since the epoch. */
  next(after: number): number | undefined;
  /** The last time in (after, until]. */
  latest(after: number, until: number): number | undefined;
  /** Whether there are more than `count` in (after, until]. */
  exceeds(count: number, after: number, until: number): boolean;
}

/**
 * `localZone`: zone of schedules that name none. `anchor`: the time from which periods of `@every` count, which must
 * be one of them or the beginning of all.
 */
export function occurrencesOf(schedule: Schedule, localZone: string, anchor: number): Occurrences {
  if (schedule.form === "every") return periods(schedule.everyMs, Math.floor(anchor / 1000) * 1000);
  if (!everFires(schedule)) return { next: () => undefined, latest: () => undefined, exceeds: () => false };
  const zone = schedule.zone ?? localZone;
  const expression = expressionOf(schedule);
  const next = (after: number): number => firstAfter(walk(expression, zone, after), after);
  return {
    next,
    latest: (after, until) => {
      const first = next(after);
      if (first > until) return undefined;
      return latestWithin((from) => walk(expression, zone, from), first, until);
    },
    exceeds: (count, after, until) => {
      const times = walk(expression, zone, after);
      let time = firstAfter(times, after);
      for (let passed = 0; passed < count && time <= until; passed++) time = times();
      return time <= until;
    },
  };
}

function periods(everyMs: number, anchor: number): Occurrences {
  const index = (time: number): number => Math.floor((time - anchor) / everyMs);
  const at = (count: number): number => anchor + count * everyMs;
  return {
    next: (after) => at(Math.max(0, index(after)) + 1),
    latest: (after, until) => {
      const last = at(index(until));
      return last > after && last > anchor ? last : undefined;
    },
    exceeds: (count, after, until) => index(until) - Math.max(0, index(after)) > count,
  };
}

/** Both day fields restricted: either matches. One that allows every day makes the other one idle. */
function expressionOf({
  minute,
  hour,
  dayOfMonth,
  month,
  dayOfWeek,
}: Extract<Schedule, { form: "fields" }>): string {
  const restricted = dayOfMonth !== undefined && dayOfWeek !== undefined;
  const everyDay = restricted && (dayOfMonth.length === 31 || dayOfWeek.length === 7);
  const days = everyDay ? [undefined, undefined] : [dayOfMonth, dayOfWeek];
  const fields = [minute, hour, days[0], month, days[1]];
  const sizes = [60, 24, 31, 12, 7];
  return fields.map((values, index) => fieldText(values, sizes[index] ?? 0)).join(" ");
}

function fieldText(values: FieldValues, size: number): string {
  return values === undefined || values.length === size ? "*" : values.join(",");
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** A change of the clock has no influence on times that are further away. */
const transitionMs = 3 * hourMs;

/**
 * Times after `after`, and maybe some before it. What a change of the clock moves or repeats is known only to a walk
 * that began before the change.
 */
function walk(expression: string, zone: string, after: number): () => number {
  const changed = offsetMinutes(zone, after) !== offsetMinutes(zone, after - transitionMs);
  const from = changed ? after - transitionMs : after;
  if (hasHalfHours(zone)) {
    const times = walkHalfHours(expression, zone, from);
    return () => times.next().value;
  }
  const cron = cronFrom(expression, zone, from);
  return () => cron.next().getTime();
}

function cronFrom(expression: string, zone: string, from: number, until?: number) {
  const end = until === undefined ? {} : { endDate: new Date(until) };
  return CronExpressionParser.parse(expression, { currentDate: new Date(from), tz: zone, ...end });
}

/** Around a change of the clock. */
const aroundMs = 2 * hourMs;

/**
 * The library walks in whole hours and gets no further where the clock is set back by half of one, as on Lord Howe Island: the hours
 * around that are looked through minute by minute.
 */
function* walkHalfHours(expression: string, zone: string, from: number): Generator<number, never> {
  const isEveryHour = expression.split(" ")[1] === "*";
  let begin = from;
  for (let change = setBackAfter(zone, begin); change !== undefined; change = setBackAfter(zone, begin)) {
    const { at, repeatedMs } = change;
    yield* upTo(at - aroundMs, cronFrom(expression, zone, begin, at - aroundMs - 1));
    const cron = cronFrom(expression, zone, begin);
    const first = Math.max(at - aroundMs, (Math.floor(begin / minuteMs) + 1) * minuteMs);
    for (let time = first; time < at + aroundMs; time += minuteMs) {
      const isAgain = time >= at && time < at + repeatedMs && !isEveryHour;
      if (!isAgain && cron.includesDate(new Date(time))) yield time;
    }
    begin = at + aroundMs - 1;
  }
  const cron = cronFrom(expression, zone, begin);
  for (;;) yield cron.next().getTime();
}

/** Times before `end`, at which the expression ends. */
function* upTo(end: number, cron: CronExpression): Generator<number> {
  while (cron.hasNext()) {
    const time = cron.next().getTime();
    if (time >= end) return;
    yield time;
  }
}

/** Whether summer and winter differ by something else than whole hours. */
function hasHalfHours(zone: string): boolean {
  const [january, july] = [Date.UTC(2026, 0), Date.UTC(2026, 6)];
  return (offsetMinutes(zone, january) - offsetMinutes(zone, july)) % 60 !== 0;
}

/** When the clock is next set back, within two years, and how much of the local time comes twice then. */
function setBackAfter(
  zone: string,
  time: number,
): { readonly at: number; readonly repeatedMs: number } | undefined {
  let low = time;
  while (offsetMinutes(zone, low + dayMs) >= offsetMinutes(zone, low)) {
    low += dayMs;
    if (low > time + 731 * dayMs) return undefined;
  }
  const before = offsetMinutes(zone, low);
  let high = low + dayMs;
  while (high - low > minuteMs) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMinutes(zone, middle) === before) low = middle;
    else high = middle;
  }
  const repeatedMs = (before - offsetMinutes(zone, high)) * minuteMs;
  return { at: Math.floor(high / minuteMs) * minuteMs, repeatedMs };
}

function firstAfter(times: () => number, after: number): number {
  let time = times();
  while (time <= after) time = times();
  return time;
}

/** Looks back further and further, so that many missed times cost no more than a few. */
function latestWithin(timesFrom: (from: number) => () => number, first: number, until: number): number {
  for (const window of [hourMs, dayMs, 32 * dayMs, 367 * dayMs]) {
    if (until - window <= first) break;
    const found = lastUpTo(timesFrom(until - window), until);
    if (found !== undefined) return found;
  }
  return lastUpTo(timesFrom(first), until) ?? first;
}

function lastUpTo(times: () => number, until: number): number | undefined {
  let last: number | undefined;
  for (let time = times(); time <= until; time = times()) last = time;
  return last;
}

/** RFC 3339 in the zone, to the second: `2026-01-01T08:00:00+08:00`, `Z` for UTC. */
export function zonedTime(time: number, zone: string): string {
  const offset = offsetMinutes(zone, time);
  const local = new Date(time + offset * 60_000).toISOString().slice(0, 19);
  if (offset === 0) return `${local}Z`;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  const size = Math.abs(offset);
  return `${local}${offset < 0 ? "-" : "+"}${two(size / 60)}:${two(size % 60)}`;
}

/** By zone: making one costs a hundred times more than using it, and there are few zones. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
    formats.set(zone, format);
  }
  return format;
}

/** Minutes by which the zone is ahead of UTC. */
function offsetMinutes(zone: string, time: number): number {
  if (zone === "UTC") return 0;
  const name =
    formatOf(zone)
      .formatToParts(time)
      .find((part) => part.type === "timeZoneName")?.value ?? "GMT";
  const parts = /^GMT([+-])(\d{2}):(\d{2})/.exec(name);
  if (parts === null) return 0;
  const minutes = Number(parts[2]) * 60 + Number(parts[3]);
  return parts[1] === "-" ? -minutes : minutes;
}
