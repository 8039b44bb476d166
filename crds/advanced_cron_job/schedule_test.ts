import fc from "fast-check";
import t from "tap";
import { ScheduleError } from "../errors.ts";
import { everFires, parseSchedule } from "./schedule.ts";

/** The parser's complaint; empty where it has none. */
function complaint(text: string, zone?: string): string {
  try {
    parseSchedule(text, zone);
    return "";
  } catch (error) {
    if (error instanceof ScheduleError) return error.message;
    throw error;
  }
}

t.test("fields become the numbers that they allow", async (t) => {
  t.same(parseSchedule("*/15 8-10 1,15 jan,MAR ?"), {
    form: "fields",
    minute: [0, 15, 30, 45],
    hour: [8, 9, 10],
    dayOfMonth: [1, 15],
    month: [1, 3],
    dayOfWeek: undefined,
    zone: undefined,
  });
  t.match(parseSchedule("50/4 */1 * * sun-tue"), {
    minute: [50, 54, 58],
    hour: undefined,
    dayOfWeek: [0, 1, 2],
  });
  t.match(parseSchedule("@annually"), { minute: [0], dayOfMonth: [1], month: [1] });
  t.match(parseSchedule("@every 1h30m15.9s"), { form: "every", everyMs: 5_415_000 });
  t.match(parseSchedule("CRON_TZ=UTC @daily"), { zone: "UTC" });
  t.match(parseSchedule("@daily", "Asia/Shanghai"), { zone: "Asia/Shanghai" });
});

t.test("what cannot be read is refused in the parser's words", async (t) => {
  for (const [text, words] of [
    ["", "empty spec string"],
    ["not a schedule", "expected exactly 5 fields, found 3: [not a schedule]"],
    ["* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"],
    ["0 0 * * 7", "end of range (7) above maximum (6): 7"],
    ["60 * * * *", "end of range (60) above maximum (59): 60"],
    ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
    ["30-10 * * * *", "beginning of range (30) beyond end of range (10): 30-10"],
    ["*/0 * * * *", "step of range should be a positive number: */0"],
    ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
    ["1/2/3 * * * *", "too many slashes: 1/2/3"],
    ["x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    ["@often", "unrecognized descriptor: @often"],
    ["@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'],
    ["@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'],
    ["@every 5d", 'failed to parse duration @every 5d: time: unknown unit "d" in duration "5d"'],
    ["TZ=No/Where @daily", "provided bad location No/Where: unknown time zone No/Where"],
    ["TZ=+08:00 @daily", "provided bad location +08:00: unknown time zone +08:00"],
  ] as const) {
    t.equal(complaint(text), words, text);
  }
  t.match(complaint("TZ=UTC"), /^invalid cron schedule: /);
});

t.test("days that never come", async (t) => {
  for (const text of ["0 0 30 2 *", "0 0 31 4,6,9,11 *", ", * * * *"]) {
    t.equal(everFires(parseSchedule(text)), false, text);
  }
  for (const text of ["0 0 29 2 *", "0 0 30 2 1", "0 0 31 */2 *", "@every 1s", "@daily"]) {
    t.equal(everFires(parseSchedule(text)), true, text);
  }
});

t.test("property: no text makes it throw anything else", async (t) => {
  const text = fc.oneof(
    fc.string(),
    fc
      .array(fc.constantFrom("*", "/", "-", ",", "?", " ", "5", "jan", "@", "TZ=", "every"), {
        maxLength: 14,
      })
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(text, (each) => typeof complaint(each) === "string"),
    { seed: 20_261_121, numRuns: 1000 },
  );
  t.pass("held in all runs");
});
