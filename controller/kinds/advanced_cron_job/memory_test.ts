/** What is done for an object of which nothing tells that it ever ran: nothing that the reference would not do. Spec: jobs A4.6, A4.13. */
import fc from "fast-check";
import t from "tap";
import { CronModel } from "../../../testkit/controller/advanced_cron_job_model.ts";
import { timestamp } from "../../rollout/lifecycle/lifecycle.ts";

const seed = 20_261_124;
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const created = Date.parse("2026-01-01T00:00:30Z");

/** As a swap finds one: created long ago, without anything that tells of a run. */
function found(spec: ConstructorParameters<typeof CronModel>[0], age: number): CronModel {
  const model = new CronModel(spec, created);
  model.now += age;
  return model;
}

const reasons = (model: CronModel) => model.plan().waiting.map(({ reason }) => reason);

t.test("a dead cron job does not fire at the swap, nor later", async (t) => {
  const model = found({ schedule: "*/5 * * * *" }, 49 * day);
  t.match(model.settle(), { creation: undefined, requeueAfterMs: undefined });
  t.same(reasons(model), ["TooManyMissedTimes"]);
  t.match(
    model.plan().waiting[0]?.message,
    /^too many missed start times \(> 100\) since 2026-01-01T00:00:30Z/,
  );
  model.run(3 * day);
  t.same(model.made, []);
  t.equal(model.job.status?.lastScheduleTime, undefined);
});

t.test("with a deadline within which few times lie it goes on", async (t) => {
  const model = found({ schedule: "*/5 * * * *" }, 49 * day);
  model.settle();
  model.change({ startingDeadlineSeconds: 60 });
  model.run(10 * minute);
  t.same(
    model.made.map(({ scheduledAt, at }) => [scheduledAt - created, at - scheduledAt]),
    [
      [49 * day - 0.5 * minute, 0.5 * minute],
      [49 * day + 4.5 * minute, 0],
      [49 * day + 9.5 * minute, 0],
    ],
  );
  model.children.clear();
  const { startingDeadlineSeconds: _deadline, ...spec } = model.job.spec;
  model.job = { ...model.job, spec };
  model.now += 30 * day;
  model.settle();
  t.equal(model.made.length, 4, "now that it ran, the status remembers, however long it is");
});

t.test("a hundred missed times are made up for, one more is not", async (t) => {
  const after = (minutes: number) => found({ schedule: "* * * * *" }, minutes * minute).settle();
  const model = found({ schedule: "* * * * *" }, 100 * minute);
  model.settle();
  t.equal(model.made.length, 1);
  t.match(after(101), { creation: undefined, waiting: [{ reason: "TooManyMissedTimes" }] });
});

t.test("a child, or the status, is memory; a child of no time is none", async (t) => {
  const remembered = found({}, 200 * minute);
  remembered.job.status = { lastScheduleTime: timestamp(created + 30 * second) };
  remembered.settle();
  t.equal(remembered.made.length, 1);
  const child = {
    kind: "BroadcastJob" as const,
    name: "by-hand",
    uid: "u",
    resourceVersion: "1",
    createdAt: created,
    startedAt: created,
    state: "active" as const,
    isGoing: false,
  };
  for (const [scheduledAt, runs] of [
    [created + 30 * second, 1],
    [undefined, 0],
  ] as const) {
    const model = found({}, 200 * minute);
    model.children.set(child.name, { ...child, scheduledAt });
    model.settle();
    t.equal(model.made.length, runs);
  }
});

t.test(
  "one that was paused from the beginning goes on when it is resumed, after a restart, too",
  async (t) => {
    const model = new CronModel({ paused: true }, created);
    model.settle();
    t.same(model.job.metadata.annotations, { "refit.dev/scheduled-since": "2026-01-01T00:00:30Z" });
    model.now += 300 * minute;
    t.match(model.plan().waiting, [
      { reason: "Paused", until: /the latest run that was missed then starts/ },
    ]);
    model.change({ paused: false });
    model.settle();
    t.equal(model.made.length, 1);
  },
);

t.test("one that is found paused, and would not run in the reference either, says so", async (t) => {
  const model = found({ paused: true }, 300 * minute);
  model.settle();
  t.equal(model.job.metadata.annotations, undefined);
  t.same(reasons(model), ["Paused", "TooManyMissedTimes"]);
  t.notMatch(model.plan().waiting[0]?.until, /missed/);
  model.change({ paused: false });
  model.settle();
  t.equal(model.made.length, 0);
});

t.test("one whose first run is refused for long goes on once it is not", async (t) => {
  const model = new CronModel({}, created);
  const passes = (count: number) => {
    for (let pass = 0; pass < count; pass++) {
      model.now += minute;
      // Refused: the creation comes after what is written of the object.
      model.pass({ refuses: true });
    }
  };
  passes(50);
  t.equal(model.job.metadata.annotations, undefined, "nothing is written without need");
  passes(150);
  model.settle();
  t.equal(model.made.length, 1);
  t.equal(model.made[0]?.scheduledAt, created + 200 * minute - 30 * second);
});

t.test("an annotation that is no time is none; one that is to come is waited for", async (t) => {
  const model = found({}, 300 * minute);
  const since = (text: string) => {
    model.job.metadata.annotations = { "refit.dev/scheduled-since": text };
  };
  since("soon");
  t.same(reasons(model), ["TooManyMissedTimes"]);
  since(timestamp(model.now));
  model.run(minute);
  t.equal(model.made.length, 1, "by hand it is a way to revive one, too");
});

t.test("an annotation from before its creation came with a copy: nothing is made up for", async (t) => {
  const model = new CronModel({ schedule: "0 0 * * *" }, created + hour);
  model.job.metadata.annotations = { "refit.dev/scheduled-since": timestamp(created - 30 * day) };
  model.settle();
  t.same(model.made, []);
  model.run(day);
  t.same(
    model.made.map(({ scheduledAt }) => scheduledAt - created),
    [day - 0.5 * minute],
  );
});

t.test("a time that a wrong clock made tells of a run, too", async (t) => {
  const model = found({}, 300 * minute);
  model.job.status = { lastScheduleTime: timestamp(model.now + 10 * day) };
  model.settle();
  t.equal(model.made.length, 1);
});

/** Times of a schedule of lists, by looking at every minute of UTC. */
interface Lists {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[];
}
const listOf = (max: number, most: number) =>
  fc.oneof(fc.constant([] as number[]), fc.uniqueArray(fc.nat(max), { minLength: 1, maxLength: most }));
const lists: fc.Arbitrary<Lists> = fc.record({
  minutes: listOf(59, 20),
  hours: listOf(23, 12),
  days: fc.oneof(
    { weight: 3, arbitrary: fc.constant([] as number[]) },
    { weight: 1, arbitrary: listOf(6, 3) },
  ),
});
const field = (values: readonly number[]) => (values.length === 0 ? "*" : values.join(","));
const has = (values: readonly number[], value: number) => values.length === 0 || values.includes(value);

function timesWithin({ minutes, hours, days }: Lists, after: number, until: number): number[] {
  const times: number[] = [];
  for (let time = (Math.floor(after / minute) + 1) * minute; time <= until; time += minute) {
    const date = new Date(time);
    if (has(minutes, date.getUTCMinutes()) && has(hours, date.getUTCHours()) && has(days, date.getUTCDay()))
      times.push(time);
  }
  return times;
}

t.test("property: at first sight exactly what the reference would run is run", async (t) => {
  const seen = { dead: 0, run: 0, late: 0, remembered: 0, none: 0, short: 0 };
  const run = fc.property(
    lists,
    // Ages around a hundred periods, in seconds.
    fc.oneof(fc.integer({ min: 0, max: 3 * 3600 }), fc.integer({ min: 0, max: 20 * 24 * 3600 })),
    fc.option(fc.oneof(fc.integer({ min: 0, max: 600 }), fc.integer({ min: 0, max: 3 * 24 * 3600 })), {
      nil: undefined,
    }),
    fc.constantFrom("nothing", "status", "child", "both", "unscheduled child"),
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.boolean(),
    (given, age, deadline, memory, at, paused) => {
      const schedule = `${field(given.minutes)} ${field(given.hours)} * * ${field(given.days)}`;
      const model = found(
        { schedule, paused, ...(deadline === undefined ? {} : { startingDeadlineSeconds: deadline }) },
        age * second,
      );
      const { now } = model;
      const before = timesWithin(given, created, now);
      const ran = before[Math.floor(at * (before.length - 1))];
      const hasMemory = ran !== undefined && memory !== "nothing" && memory !== "unscheduled child";
      if (hasMemory && memory !== "child") model.job.status = { lastScheduleTime: timestamp(ran) };
      if (memory !== "nothing" && memory !== "status")
        model.children.set("one", {
          kind: "BroadcastJob",
          name: "one",
          uid: "u",
          resourceVersion: "1",
          createdAt: now,
          startedAt: now,
          scheduledAt: memory === "unscheduled child" ? undefined : ran,
          state: "succeeded",
          isGoing: false,
        });
      const from = hasMemory ? ran : created;
      const missed = before.filter((time) => time > from);
      const within = missed.filter((time) => deadline === undefined || time > now - deadline * second);
      const latest = missed.at(-1);
      const isDead = !hasMemory && within.length > 100;
      const isLate = latest !== undefined && deadline !== undefined && latest + deadline * second < now;
      const expected = isDead || isLate || paused ? undefined : latest;
      const { creation, waiting } = model.plan();
      seen[isDead ? "dead" : isLate ? "late" : expected === undefined ? "none" : "run"]++;
      if (hasMemory && missed.length > 100) seen.remembered++;
      if (!hasMemory && within.length > 90 && within.length <= 100) seen.short++;
      return (
        creation?.name === (expected === undefined ? undefined : `tick-${expected / second}`) &&
        waiting.some(({ reason }) => reason === "TooManyMissedTimes") === isDead
      );
    },
  );
  t.doesNotThrow(() => fc.assert(run, { seed, numRuns: 3000 }));
  for (const [name, count] of Object.entries(seen)) t.ok(count >= 5, `${name}: ${count}`);
});

t.test("property: what is followed from its creation is never given up", async (t) => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("refused" as const), minutes: fc.integer({ min: 1, max: 150 }) }),
    fc.record({ do: fc.constant("paused" as const), minutes: fc.integer({ min: 1, max: 400 }) }),
    fc.record({ do: fc.constant("runs" as const), minutes: fc.integer({ min: 1, max: 30 }) }),
    // An outage.
    fc.record({ do: fc.constant("away" as const), minutes: fc.integer({ min: 1, max: 45 }) }),
  );
  const run = fc.property(
    fc.constantFrom("* * * * *", "*/7 * * * *", "@every 90s"),
    fc.array(step, { minLength: 1, maxLength: 6 }),
    (schedule, steps) => {
      const model = new CronModel({ schedule }, created);
      for (const { do: what, minutes } of steps) {
        model.change({ paused: what === "paused" });
        if (what === "runs") model.run(minutes * minute);
        else {
          for (let passed = 0; passed < minutes; passed++) {
            if (what !== "away") model.pass({ refuses: what === "refused" });
            model.now += minute;
          }
        }
      }
      model.change({ paused: false });
      const before = model.made.length;
      model.settle();
      model.run(20 * minute);
      return model.made.length > before && !reasons(model).includes("TooManyMissedTimes");
    },
  );
  t.doesNotThrow(() => fc.assert(run, { seed, numRuns: 100 }));
});
