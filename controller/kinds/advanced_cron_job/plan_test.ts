import fc from "fast-check";
import t from "tap";
import { CronModel } from "../../../testkit/controller/advanced_cron_job_model.ts";

const seed = 20_261_121;
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const start = Date.parse("2026-01-01T00:00:00Z") / second;

function endAll(model: CronModel, state: "succeeded" | "failed" = "succeeded"): void {
  for (const child of model.active()) model.end(child.name, state);
}

t.test("a child every minute, named after its time", async (t) => {
  const model = new CronModel({
    template: { broadcastJobTemplate: { metadata: { labels: { a: "b" }, annotations: { c: "d" } } } },
  });
  t.same(model.settle().status, { type: "BroadcastJob" });
  t.equal(model.settle().requeueAfterMs, 30 * second);
  model.now += 30 * second;
  t.match(model.plan().creation, {
    kind: "BroadcastJob",
    name: `tick-${start + 60}`,
    body: {
      apiVersion: "apps.kruise.io/v1beta1",
      metadata: {
        labels: { a: "b" },
        annotations: { c: "d", "apps.kruise.io/scheduled-at": "2026-01-01T00:01:00Z" },
        ownerReferences: [
          { apiVersion: "apps.kruise.io/v1beta1", kind: "AdvancedCronJob", controller: true },
        ],
      },
    },
  });
  model.run(minute);
  t.same(model.names(), [`tick-${start + 60}`, `tick-${start + 120}`]);
  t.match(model.job.status, {
    lastScheduleTime: "2026-01-01T00:02:00Z",
    active: [
      {
        kind: "BroadcastJob",
        name: `tick-${start + 60}`,
        apiVersion: "apps.kruise.io/v1beta1",
        uid: "child-1",
      },
      { name: `tick-${start + 120}` },
    ],
  });
  endAll(model);
  t.equal(model.settle().status.active, undefined);
});

t.test("Jobs and pull jobs", async (t) => {
  const jobs = new CronModel({ template: { jobTemplate: { spec: { completions: 4 } } } });
  jobs.run(minute);
  t.match(jobs.job.status, { type: "Job", active: [{ apiVersion: "batch/v1", kind: "Job" }] });
  const pulls = new CronModel({ template: { imageListPullJobTemplate: {} } });
  pulls.run(2 * minute);
  t.equal(pulls.job.status?.type, "ImageListPullJob");
  t.equal(pulls.active().length, 1, "Replace is the default");
});

t.test("Forbid: one at a time; what was due meanwhile starts late, under the latest time", async (t) => {
  const model = new CronModel({ concurrencyPolicy: "Forbid" });
  model.run(30 * second);
  model.run(2 * minute + 10 * second);
  t.equal(model.made.length, 1);
  t.match(model.plan().waiting, [{ reason: "Active" }, { reason: "Schedule" }]);
  endAll(model);
  model.settle();
  t.same(model.names(), [`tick-${start + 60}`, `tick-${start + 180}`]);
});

t.test("Forbid with a deadline: what is too late is not made up for", async (t) => {
  const model = new CronModel({ concurrencyPolicy: "Forbid", startingDeadlineSeconds: 5 });
  model.run(30 * second);
  model.run(minute + 6 * second);
  endAll(model);
  model.settle();
  t.equal(model.made.length, 1);
  model.run(minute);
  t.same(model.names(), [`tick-${start + 60}`, `tick-${start + 180}`]);
});

t.test("Replace: the active child goes first", async (t) => {
  const model = new CronModel({ concurrencyPolicy: "Replace" });
  model.run(30 * second);
  model.now += minute;
  const plan = model.plan();
  t.same(
    plan.deletions.map((child) => child.name),
    [`tick-${start + 60}`],
  );
  t.equal(plan.creation?.name, `tick-${start + 120}`);
});

t.test("paused: nothing starts; resumed: the latest missed run, once", async (t) => {
  const model = new CronModel({});
  model.run(30 * second);
  model.change({ paused: true });
  t.equal(model.settle().requeueAfterMs, undefined);
  model.run(200 * minute + 20 * second);
  t.equal(model.made.length, 1);
  t.equal(model.active().length, 1, "running children are untouched");
  model.change({ paused: false });
  model.settle();
  t.same(model.names().at(-1), `tick-${start + 201 * 60}`);
  t.equal(model.made.length, 2);
  model.run(minute);
  t.equal(model.made.length, 3);
});

t.test("history: the newest of each kind of end stay", async (t) => {
  const model = new CronModel({ successfulJobsHistoryLimit: 2 });
  for (let round = 0; round < 8; round++) {
    model.run(minute);
    endAll(model, round % 2 === 0 ? "succeeded" : "failed");
  }
  model.settle();
  const kept = [...model.children.values()].map((child) => child.scheduledAt);
  t.same(
    kept,
    [5, 7, 8].map((index) => (start + index * 60) * second),
  );
  model.change({ successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0 });
  model.settle();
  t.equal(model.children.size, 0);
});

t.test("children that are gone are not made again: the status remembers", async (t) => {
  const model = new CronModel({});
  model.run(minute);
  model.children.clear();
  model.settle();
  t.equal(model.job.status?.lastScheduleTime, "2026-01-01T00:01:00Z");
  model.change({ successfulJobsHistoryLimit: 1 });
  model.settle();
  t.equal(model.made.length, 1);
});

t.test("a controller that was away makes up for the latest run, however many it missed", async (t) => {
  const model = new CronModel({ schedule: "* * * * *" });
  model.run(minute);
  model.now += 500 * hour;
  model.settle();
  t.equal(model.made.length, 2);
  t.equal(model.made.at(-1)?.scheduledAt, Math.floor(model.now / minute) * minute);
});

t.test("a clock that is set back repeats nothing; one that was far ahead holds up nothing", async (t) => {
  const model = new CronModel({});
  model.run(10 * minute);
  const before = model.made.length;
  model.now -= 5 * minute;
  model.run(4 * minute);
  t.equal(model.made.length, before);
  model.run(3 * minute);
  t.ok(model.made.length > before);
  model.now += 400 * 24 * hour;
  model.settle();
  model.now -= 400 * 24 * hour;
  const count = model.made.length;
  model.run(3 * minute);
  t.equal(model.made.length, count + 3);
});

t.test("a changed schedule counts from the last run", async (t) => {
  const model = new CronModel({ schedule: "0 * * * *" });
  model.run(90 * minute);
  t.equal(model.made.length, 1);
  model.change({ schedule: "15 * * * *" });
  model.settle();
  t.equal(model.names().at(-1), `tick-${start + 75 * 60}`);
});

t.test("schedules that cannot be read, or never start anything, are waited for in words", async (t) => {
  const bad = new CronModel({ schedule: "0 0 * * 7" });
  t.match(bad.settle(), { requeueAfterMs: undefined, waiting: [{ reason: "Malformed" }] });
  t.match(bad.plan().waiting[0]?.message, "end of range (7) above maximum (6): 7");
  const nowhere = new CronModel({ timeZone: "No/Where" });
  t.match(nowhere.plan().waiting[0]?.message, "unknown time zone No/Where");
  const never = new CronModel({ schedule: "0 0 30 2 *" });
  t.match(never.settle(), { requeueAfterMs: undefined, waiting: [{ reason: "NeverDue" }] });
});

t.test("a timer is never trusted for longer than a minute", async (t) => {
  const model = new CronModel({ schedule: "@yearly" });
  t.equal(model.settle().requeueAfterMs, minute);
});

t.test("an object that is being deleted starts nothing", async (t) => {
  const model = new CronModel({});
  model.now += hour;
  model.job.metadata.deletionTimestamp = "2026-01-01T01:00:00Z";
  t.match(model.plan(), { creation: undefined, deletions: [], requeueAfterMs: undefined });
});

type Step =
  | { do: "run"; seconds: number }
  | { do: "away"; seconds: number }
  | { do: "back"; seconds: number }
  | { do: "end"; child: number; state: "succeeded" | "failed" }
  | { do: "vanish"; child: number }
  | { do: "pause"; paused: boolean }
  | { do: "crash"; writes: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("run" as const), seconds: fc.integer({ min: 1, max: 200 }) }),
  fc.record({ do: fc.constant("away" as const), seconds: fc.integer({ min: 1, max: 20_000 }) }),
  fc.record({ do: fc.constant("back" as const), seconds: fc.integer({ min: 1, max: 3000 }) }),
  fc.record({
    do: fc.constant("end" as const),
    child: fc.nat(5),
    state: fc.constantFrom("succeeded" as const, "failed" as const),
  }),
  fc.record({ do: fc.constant("vanish" as const), child: fc.nat(5) }),
  fc.record({ do: fc.constant("pause" as const), paused: fc.boolean() }),
  fc.record({ do: fc.constant("crash" as const), writes: fc.nat(3) }),
);

function take(model: CronModel, each: Step): void {
  const child = "child" in each ? [...model.children.values()][each.child] : undefined;
  switch (each.do) {
    case "run":
      model.run(each.seconds * second);
      return;
    case "away":
      model.now += each.seconds * second;
      return;
    case "back":
      model.now -= each.seconds * second;
      return;
    case "end":
      if (child !== undefined) model.end(child.name, each.state);
      return;
    case "vanish":
      // By its own time to live: after its end, and after the status knows of it.
      if (child !== undefined && child.state !== "active") {
        model.settle();
        model.children.delete(child.name);
      }
      return;
    case "pause":
      model.change({ paused: each.paused });
      return;
    case "crash":
      model.pass({ writes: each.writes });
  }
}

t.test("property: no run twice, none too late, policies and limits hold", async (t) => {
  const run = fc.property(
    fc.constantFrom("*/1 * * * *", "*/7 * * * *", "@every 90s", "30 */2 * * *", "TZ=Europe/Berlin @hourly"),
    fc.constantFrom("Allow" as const, "Forbid" as const, "Replace" as const),
    fc.option(fc.integer({ min: 1, max: 600 }), { nil: undefined }),
    fc.array(step, { maxLength: 25 }),
    (schedule, concurrencyPolicy, deadline, steps) => {
      const startingDeadlineSeconds = deadline === undefined ? {} : { startingDeadlineSeconds: deadline };
      const model = new CronModel({ schedule, concurrencyPolicy, ...startingDeadlineSeconds });
      for (const each of steps) {
        take(model, each);
        if (concurrencyPolicy !== "Allow") t.ok(model.active().length <= 1, "one at a time");
      }
      t.equal(new Set(model.names()).size, model.made.length, "no run twice");
      for (const { scheduledAt, at } of model.made) {
        t.ok(scheduledAt <= at, "none before its time");
        t.ok(deadline === undefined || scheduledAt + deadline * second >= at, "none too late");
      }
      model.change({ paused: false });
      model.settle();
      const ended = [...model.children.values()].filter((child) => child.state !== "active");
      t.ok(ended.length <= 4, "history is kept short");
      // Whatever happened, it goes on; what the reference would have given up, too, once it has a deadline.
      if (model.plan().waiting.some(({ reason }) => reason === "TooManyMissedTimes"))
        model.change({ startingDeadlineSeconds: 60 });
      endAll(model);
      const before = model.made.length;
      model.now = Math.max(model.now, Date.parse(model.job.status?.lastScheduleTime ?? "") || 0);
      model.run(3 * hour);
      t.ok(model.made.length > before, "the next time comes");
    },
  );
  fc.assert(run, { seed, numRuns: 30 });
  t.pass("held in all runs");
});

t.test("property: while the controller runs, every time of the schedule is run at its time", async (t) => {
  const run = fc.property(
    fc.constantFrom("*/1 * * * *", "*/5 * * * *", "@every 2m", "17 * * * *"),
    fc.integer({ min: 1, max: 100 }),
    (schedule, minutes) => {
      const model = new CronModel({ schedule });
      model.run(minutes * minute);
      for (const { scheduledAt, at } of model.made) t.equal(scheduledAt, at);
      const distances = model.made.map((each, index) => each.at - (model.made[index - 1]?.at ?? each.at));
      t.ok(new Set(distances.slice(1)).size <= 1, "at equal distances");
    },
  );
  fc.assert(run, { seed, numRuns: 15 });
  t.pass("held in all runs");
});
