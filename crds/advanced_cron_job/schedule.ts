/**
 * Schedules as the API writes them: five fields, descriptors, `@every`, an optional time zone in front. Which times a
 * schedule means is not decided here. Spec: jobs A4, rules 1 and 2.
 */
import { ScheduleError } from "../errors.ts";
import { durationMs } from "./duration.ts";

/** Numbers that a field allows, ascending; undefined where it allows all of them by a star. */
export type FieldValues = readonly number[] | undefined;

export type Schedule =
  | { readonly form: "every"; readonly everyMs: number }
  | {
      readonly form: "fields";
      readonly minute: FieldValues;
      readonly hour: FieldValues;
      readonly dayOfMonth: FieldValues;
      readonly month: FieldValues;
      /** 0 is Sunday. */
      readonly dayOfWeek: FieldValues;
      /** Undefined: that of the process. */
      readonly zone: string | undefined;
    };

type Fields = Omit<Extract<Schedule, { form: "fields" }>, "form" | "zone">;

interface Bounds {
  readonly least: number;
  readonly most: number;
  readonly names: readonly string[];
}

const monthNames = ["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const bounds = {
  minute: { least: 0, most: 59, names: [] },
  hour: { least: 0, most: 23, names: [] },
  dayOfMonth: { least: 1, most: 31, names: [] },
  month: { least: 1, most: 12, names: monthNames },
  dayOfWeek: { least: 0, most: 6, names: dayNames },
} as const satisfies Record<keyof Fields, Bounds>;

const fieldOrder = ["minute", "hour", "dayOfMonth", "month", "dayOfWeek"] as const;

const descriptors: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

/** The least period; shorter ones and fractions of seconds are rounded. */
const secondMs = 1000;

/** Reads a schedule; `timeZone` counts where it names none. Throws ScheduleError in the words of the API's parser. */
export function parseSchedule(text: string, timeZone?: string): Schedule {
  if (text === "") throw new ScheduleError("empty spec string");
  const { rest, zone } = splitZone(text, timeZone);
  if (rest.startsWith("@every ")) return { form: "every", everyMs: periodOf(rest) };
  let fields = rest;
  if (rest.startsWith("@")) {
    const known = Object.hasOwn(descriptors, rest) ? descriptors[rest] : undefined;
    if (known === undefined) throw new ScheduleError(`unrecognized descriptor: ${rest}`);
    fields = known;
  }
  return { form: "fields", ...parseFields(fields), zone };
}

function splitZone(text: string, timeZone: string | undefined): { rest: string; zone: string | undefined } {
  if (!text.startsWith("TZ=") && !text.startsWith("CRON_TZ=")) {
    return { rest: text.trim(), zone: checkedZone(timeZone) };
  }
  const space = text.indexOf(" ");
  if (space < 0) {
    throw new ScheduleError(`invalid cron schedule: ${text}: a time zone must be followed by a schedule`);
  }
  const name = text.slice(text.indexOf("=") + 1, space);
  const complaint = zoneComplaint(name);
  if (complaint !== undefined) throw new ScheduleError(`provided bad location ${name}: ${complaint}`);
  return { rest: text.slice(space).trim(), zone: normalZone(name) };
}

function checkedZone(timeZone: string | undefined): string | undefined {
  if (timeZone === undefined) return undefined;
  const complaint = zoneComplaint(timeZone);
  if (complaint !== undefined) throw new ScheduleError(`provided bad location ${timeZone}: ${complaint}`);
  return normalZone(timeZone);
}

/** `Local` is the zone of the process, no name at all is UTC. */
function normalZone(name: string): string | undefined {
  if (name === "Local") return undefined;
  return name === "" ? "UTC" : name;
}

/** What is wrong with the name of a time zone: the API loads them from the IANA database, offsets are no names. */
export function zoneComplaint(name: string): string | undefined {
  if (name === "" || name === "Local") return undefined;
  const complaint = `unknown time zone ${name}`;
  if (!/^[A-Za-z]/.test(name)) return complaint;
  if (name === "UTC") return undefined;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return complaint;
    throw error;
  }
}

function periodOf(text: string): number {
  const duration = text.slice("@every ".length);
  const result = durationMs(duration);
  if ("complaint" in result) {
    throw new ScheduleError(`failed to parse duration ${text}: ${result.complaint}`);
  }
  return Math.max(secondMs, Math.floor(result.ms / secondMs) * secondMs);
}

function parseFields(text: string): Fields {
  const words = text.split(/\s+/).filter((word) => word !== "");
  if (words.length !== fieldOrder.length) {
    throw new ScheduleError(`expected exactly 5 fields, found ${words.length}: [${words.join(" ")}]`);
  }
  const field = (index: number) => {
    const name = fieldOrder[index];
    return name === undefined ? undefined : parseField(words[index] ?? "", bounds[name]);
  };
  return {
    minute: field(0),
    hour: field(1),
    dayOfMonth: field(2),
    month: field(3),
    dayOfWeek: field(4),
  };
}

/** A comma-separated list of ranges. */
function parseField(text: string, limits: Bounds): FieldValues {
  const values = new Set<number>();
  let starred = false;
  for (const part of text.split(",").filter((each) => each !== "")) {
    const range = parseRange(part, limits);
    starred ||= range.starred;
    for (let value = range.start; value <= range.end; value += range.step) values.add(value);
  }
  return starred ? undefined : [...values].sort((a, b) => a - b);
}

/** `*`, `?`, `3`, `mon`, `1-5`, each with an optional `/step`; `3/2` means from 3 to the end. */
function parseRange(
  text: string,
  limits: Bounds,
): { start: number; end: number; step: number; starred: boolean } {
  const [range = "", stepText, ...more] = text.split("/");
  const [low = "", high, ...rest] = range.split("-");
  let start = limits.least;
  let end = limits.most;
  const isStar = low === "*" || low === "?";
  if (!isStar) {
    start = numberOf(low, limits);
    if (rest.length > 0) throw new ScheduleError(`too many hyphens: ${text}`);
    end = high === undefined ? start : numberOf(high, limits);
  }
  if (more.length > 0) throw new ScheduleError(`too many slashes: ${text}`);
  let step = 1;
  if (stepText !== undefined) {
    step = integerOf(stepText);
    if (high === undefined) end = limits.most;
  }
  if (start < limits.least) {
    throw new ScheduleError(`beginning of range (${start}) below minimum (${limits.least}): ${text}`);
  }
  if (end > limits.most) {
    throw new ScheduleError(`end of range (${end}) above maximum (${limits.most}): ${text}`);
  }
  if (start > end) {
    throw new ScheduleError(`beginning of range (${start}) beyond end of range (${end}): ${text}`);
  }
  if (step === 0) throw new ScheduleError(`step of range should be a positive number: ${text}`);
  return { start, end, step, starred: isStar && step === 1 };
}

function numberOf(text: string, { names }: Bounds): number {
  const named = text === "" ? -1 : names.indexOf(text.toLowerCase());
  return named >= 0 ? named : integerOf(text);
}

function integerOf(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) {
    const why = `strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
    throw new ScheduleError(`failed to parse int from ${text}: ${why}`);
  }
  const number = Number(text);
  if (number < 0) throw new ScheduleError(`negative number (${number}) not allowed: ${text}`);
  return number;
}

/** Days of each month in a leap year. */
const monthLengths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether there is any day on which the schedule starts something: the 30th of February never comes. */
export function everFires(schedule: Schedule): boolean {
  if (schedule.form === "every") return true;
  const { minute, hour, dayOfMonth, month, dayOfWeek } = schedule;
  if ([minute, hour, month].some((values) => values?.length === 0)) return false;
  if (
    dayOfWeek !== undefined &&
    dayOfWeek.length > 0 &&
    (dayOfMonth === undefined || dayOfMonth.length > 0)
  ) {
    return true;
  }
  const days = dayOfMonth ?? [1];
  if (dayOfWeek?.length === 0 && dayOfMonth === undefined) return false;
  const months = month ?? monthLengths.map((_, index) => index + 1);
  return months.some((each) => days.some((day) => day <= (monthLengths[each - 1] ?? 0)));
}
