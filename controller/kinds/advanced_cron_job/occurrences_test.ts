import fc from "fast-check";
import t from "tap";
import { parseSchedule } from "../../../crds/index.ts";
import { type Occurrences, occurrencesOf, zonedTime } from "./occurrences.ts";

const seed = 20_261_121;
const minute = 60_000;
const ms = (text: string): number => Date.parse(text);
const iso = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString().replace(".000Z", "Z");

function occurrences(text: string, zone?: string, anchor = 0): Occurrences {
  return occurrencesOf(parseSchedule(text, zone), "UTC", anchor);
}

/** All times in (from, to] by repeated next. */
function times(each: Occurrences, from: string, to: string): (string | undefined)[] {
  const found: (string | undefined)[] = [];
  for (let time = each.next(ms(from)); time !== undefined && time <= ms(to); time = each.next(time)) {
    found.push(iso(time));
  }
  return found;
}

t.test("fields, descriptors and zones", async (t) => {
  const from = ms("2026-01-01T00:00:30Z");
  for (const [text, zone, want] of [
    ["*/1 * * * *", undefined, "2026-01-01T00:01:00Z"],
    ["*/5 * * * ?", undefined, "2026-01-01T00:05:00Z"],
    ["7/20 3 * * *", undefined, "2026-01-01T03:07:00Z"],
    ["0 0 1,15 * mon", undefined, "2026-01-05T00:00:00Z"],
    ["0 0 */2 * 1", undefined, "2026-01-03T00:00:00Z"],
    ["0 0 * feb *", undefined, "2026-02-01T00:00:00Z"],
    ["0 0 29 2 *", undefined, "2028-02-29T00:00:00Z"],
    ["0 12 1 1 0-6", undefined, "2026-01-01T12:00:00Z"],
    ["@yearly", undefined, "2027-01-01T00:00:00Z"],
    ["@weekly", undefined, "2026-01-04T00:00:00Z"],
    ["@midnight", undefined, "2026-01-02T00:00:00Z"],
    ["@hourly", undefined, "2026-01-01T01:00:00Z"],
    ["0 8 * * *", "Asia/Shanghai", "2026-01-02T00:00:00Z"],
    ["TZ=Asia/Shanghai 0 8 * * *", undefined, "2026-01-02T00:00:00Z"],
    ["CRON_TZ=America/New_York @daily", undefined, "2026-01-01T05:00:00Z"],
    ["30 5 * * *", "Asia/Kolkata", "2026-01-02T00:00:00Z"],
  ] as const) {
    t.equal(iso(occurrences(text, zone).next(from)), want, text);
  }
  t.equal(occurrences("0 0 30 2 *").next(from), undefined);
  t.equal(occurrences("0 0 30 2 *").latest(0, from), undefined);
});

t.test("periods count from their anchor", async (t) => {
  const anchor = ms("2026-01-01T00:00:07.250Z");
  const every = occurrences("@every 90s", undefined, anchor);
  t.equal(iso(every.next(anchor)), "2026-01-01T00:01:37Z");
  t.equal(iso(every.latest(anchor, ms("2026-01-01T01:00:00Z"))), "2026-01-01T00:58:37Z");
  t.equal(every.latest(anchor, anchor + 80_000), undefined);
  t.equal(iso(occurrences("@every 10ms").next(0)), "1970-01-01T00:00:01Z");
});

t.test("spring: a time that is skipped happens an hour later, once", async (t) => {
  const daily = occurrences("30 2 * * *", "America/New_York");
  const want = ["2026-03-07T07:30:00Z", "2026-03-08T07:30:00Z", "2026-03-09T06:30:00Z"];
  t.same(times(daily, "2026-03-07T00:00:00Z", "2026-03-09T23:00:00Z"), want);
  for (const now of ["2026-03-08T07:00:00Z", "2026-03-08T07:15:00Z", "2026-03-08T07:29:59Z"]) {
    t.equal(iso(daily.next(ms(now))), want[1], `a walk that begins at ${now}`);
  }
  const hourly = occurrences("0 * * * *", "America/New_York");
  t.equal(times(hourly, "2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z").length, 24);
});

t.test("autumn: a time that comes twice happens once, every hour happens", async (t) => {
  const daily = occurrences("30 1 * * *", "America/New_York");
  const want = ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"];
  t.same(times(daily, "2026-11-01T00:00:00Z", "2026-11-02T12:00:00Z"), want);
  for (const now of ["2026-11-01T05:45:00Z", "2026-11-01T06:00:00Z", "2026-11-01T06:29:00Z"]) {
    t.equal(iso(daily.next(ms(now))), want[1], `a walk that begins at ${now}`);
  }
  const hourly = occurrences("30 * * * *", "America/New_York");
  t.equal(times(hourly, "2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z").length, 24);
});

t.test("a clock that is set back by half an hour holds up no schedule", async (t) => {
  const zone = "Australia/Lord_Howe";
  const from = (text: string, after: string, count: number) => {
    const { next } = occurrences(text, zone);
    const times = [ms(after)];
    for (let index = 0; index < count; index++) times.push(next(times.at(-1) ?? 0) ?? Number.NaN);
    return times.slice(1).map((time) => new Date(time).toISOString().slice(5, 16));
  };
  // From 02:00 to 01:30 of the 5th of April, which is 15:00 in UTC.
  t.same(from("0 9 * * *", "2026-04-03T22:00:00Z", 2), ["04-04T22:30", "04-05T22:30"]);
  t.same(from("0 2 * * *", "2026-04-03T15:00:00Z", 2), ["04-04T15:30", "04-05T15:30"]);
  t.same(from("45 1,2 * * *", "2026-04-04T14:00:00Z", 3), ["04-04T14:45", "04-04T16:15", "04-05T15:15"]);
  t.same(from("45 1,2 * * *", "2026-04-04T15:10:00Z", 1), ["04-04T16:15"], "what comes twice is over");
  const minutes = ["04-04T14:30", "04-04T14:45", "04-04T15:00", "04-04T15:15", "04-04T15:30"];
  t.same(from("*/15 * * * *", "2026-04-04T14:15:00Z", 5), minutes, "of all hours it is not");
  t.same(from("15 2 5 4 *", "2026-01-01T00:00:00Z", 2).at(0), "04-04T15:45");
  const every = occurrences("0 * * * *", zone);
  t.equal(every.latest(ms("2026-04-04T13:00:00Z"), ms("2026-04-05T00:00:00Z")), ms("2026-04-04T23:30:00Z"));
  t.equal(every.exceeds(11, ms("2026-04-04T13:00:00Z"), ms("2026-04-05T00:00:00Z")), false);
  t.equal(every.exceeds(9, ms("2026-04-04T13:00:00Z"), ms("2026-04-05T00:00:00Z")), true);
});

t.test("the zone of this process shows in times only", async (t) => {
  const time = ms("2026-01-01T00:00:00Z");
  t.equal(zonedTime(time, "UTC"), "2026-01-01T00:00:00Z");
  t.equal(zonedTime(time, "Asia/Shanghai"), "2026-01-01T08:00:00+08:00");
  t.equal(zonedTime(time, "America/St_Johns"), "2025-12-31T20:30:00-03:30");
});

const field = (least: number, most: number) =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant("*") },
    fc.integer({ min: least, max: most }).map(String),
    fc.integer({ min: 2, max: 20 }).map((step) => `*/${step}`),
    fc
      .tuple(fc.integer({ min: least, max: most }), fc.integer({ min: least, max: most }))
      .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
  );
const expression = fc
  .tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6))
  .map((fields) => fields.join(" "));
const zones = fc.constantFrom(
  "UTC",
  "Asia/Shanghai",
  "America/New_York",
  "Europe/Berlin",
  "Australia/Lord_Howe",
);

t.test("property: next and latest agree, wherever a walk begins", async (t) => {
  const run = fc.property(
    expression,
    zones,
    fc.integer({ min: ms("2026-01-01T00:00:00Z"), max: ms("2027-01-01T00:00:00Z") }),
    fc.integer({ min: 0, max: 3 * 24 * 60 }),
    (text, zone, from, minutes) => {
      const each = occurrences(text, zone);
      const until = from + minutes * minute;
      const first = each.next(from);
      const latest = each.latest(from, until);
      if (first === undefined || first > until) return latest === undefined;
      if (latest === undefined || latest <= from || latest > until) return false;
      // Nothing lies between the latest one and the end, and it is found from just before it.
      const after = each.next(latest) ?? Number.POSITIVE_INFINITY;
      return first % minute === 0 && after > until && each.next(latest - 1) === latest;
    },
  );
  fc.assert(run, { seed, numRuns: 150 });
  t.pass("held in all runs");
});

/** A field as it is written, what it allows, and whether it allows everything by a star. */
interface Field {
  readonly text: string;
  readonly values: ReadonlySet<number>;
  readonly isStar: boolean;
}

function range(least: number, most: number, step = 1): Set<number> {
  return new Set(
    Array.from({ length: Math.floor((most - least) / step) + 1 }, (_, index) => least + index * step),
  );
}

function fieldOf(least: number, most: number): fc.Arbitrary<Field> {
  const number = fc.integer({ min: least, max: most });
  const step = fc.integer({ min: 2, max: 20 });
  const plain = (text: string, values: Set<number>): Field => ({ text, values, isStar: false });
  const part = fc.oneof(
    fc.constantFrom("*", "?").map((text) => ({ ...plain(text, range(least, most)), isStar: true })),
    number.map((value) => plain(String(value), new Set([value]))),
    step.map((by) => plain(`*/${by}`, range(least, most, by))),
    fc.tuple(number, step).map(([from, by]) => plain(`${from}/${by}`, range(from, most, by))),
    fc
      .tuple(number, number, step)
      .map(([a, b, by]) =>
        plain(`${Math.min(a, b)}-${Math.max(a, b)}/${by}`, range(Math.min(a, b), Math.max(a, b), by)),
      ),
  );
  return fc.array(part, { minLength: 1, maxLength: 2 }).map((parts) => ({
    text: parts.map(({ text }) => text).join(","),
    values: new Set(parts.flatMap(({ values }) => [...values])),
    isStar: parts.some(({ isStar }) => isStar),
  }));
}

const fields = fc.tuple(fieldOf(0, 59), fieldOf(0, 23), fieldOf(1, 31), fieldOf(1, 12), fieldOf(0, 6));

/** Spec: jobs A4, rule 1, read for one minute of UTC. */
function fires([minutes, hours, days, months, weekdays]: readonly Field[], time: number): boolean {
  const date = new Date(time);
  const has = (each: Field | undefined, value: number) => each?.values.has(value) === true;
  const [day, weekday] = [has(days, date.getUTCDate()), has(weekdays, date.getUTCDay())];
  const isDay = days?.isStar || weekdays?.isStar ? day && weekday : day || weekday;
  const isTime = has(minutes, date.getUTCMinutes()) && has(hours, date.getUTCHours());
  return isTime && isDay && has(months, date.getUTCMonth() + 1);
}

t.test("property: the times are those of a look at every minute", async (t) => {
  let found = 0;
  const begin = fc.integer({ min: ms("2026-01-01T00:00:00Z"), max: ms("2028-03-02T00:00:00Z") });
  const run = fc.property(fields, begin, fc.integer({ min: 1, max: 3 * 24 * 60 }), (all, after, minutes) => {
    const until = after + minutes * minute;
    const wanted: number[] = [];
    for (let time = Math.floor(after / minute + 1) * minute; time <= until; time += minute)
      if (fires(all, time)) wanted.push(time);
    found += wanted.length;
    const { next, latest, exceeds } = occurrences(all.map(({ text }) => text).join(" "), "UTC");
    const first = next(after) ?? Number.POSITIVE_INFINITY;
    return (
      (first > until ? undefined : first) === wanted[0] &&
      latest(after, until) === wanted.at(-1) &&
      !exceeds(wanted.length, after, until) &&
      (wanted.length === 0 || exceeds(wanted.length - 1, after, until))
    );
  });
  fc.assert(run, { seed, numRuns: 150 });
  t.ok(found > 1000, `${found} times`);
});
