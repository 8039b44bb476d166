import fc from "fast-check";
import t from "tap";
import { CronModel } from "../../../testkit/controller/advanced_cron_job_model.ts";
import type { CronJobPlan } from "./plan.ts";

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

/** Minutes of an hour at which a schedule has its times. */
const schedules: Readonly<Record<string, number>> = {
  "*/1 * * * *": 1,
  "*/7 * * * *": 7,
  "*/20 * * * *": 20,
  "TZ=Europe/Berlin @hourly": 60,
};
const schedule = fc.constantFrom(...Object.keys(schedules));

/** The latest time of (after, until], minute by minute. */
function latestTime(of: string, after: number, until: number): number | undefined {
  for (let time = Math.floor(until / minute) * minute; time > after; time -= minute)
    if (new Date(time).getUTCMinutes() % (schedules[of] ?? 1) === 0) return time;
  return undefined;
}

/** Holds each plan to the rules. */
class Checked extends CronModel {
  override plan(): CronJobPlan {
    const plan = super.plan();
    const { creation, deletions } = plan;
    const { spec, status } = this.job;
    const active = this.active();
    const replaces = creation !== undefined && spec.concurrencyPolicy === "Replace";
    for (const { name, state } of deletions)
      if (state === "active" && !replaces) throw new Error(`deletes ${name}, which is at work`);
    for (const [state, limit] of [
      ["succeeded", spec.successfulJobsHistoryLimit ?? 3],
      ["failed", spec.failedJobsHistoryLimit ?? 1],
    ] as const) {
      const ended = [...this.children.values()].filter((child) => child.state === state && !child.isGoing);
      const outlived = deletions.filter((child) => child.state === state).length;
      if (outlived !== Math.max(0, ended.length - limit)) throw new Error(`${outlived} ${state} ones go`);
    }
    if (creation === undefined) return plan;
    if (spec.paused === true) throw new Error("creates while it is paused");
    if (spec.concurrencyPolicy === "Forbid" && active.length > 0) throw new Error("two at a time");
    if (replaces && active.some((child) => !child.isGoing && !deletions.includes(child)))
      throw new Error("leaves one that it replaces");
    const time = Number(creation.name.slice("tick-".length)) * second;
    const known = [status?.lastScheduleTime, ...this.made.map(({ scheduledAt }) => scheduledAt)].map((each) =>
      new Date(each ?? 0).getTime(),
    );
    const last = Math.max(...known.filter((each) => each <= this.now + 24 * hour));
    if (time <= last) throw new Error("no newer than the last run");
    if (time !== latestTime(spec.schedule, 0, this.now)) throw new Error("not the latest time");
    const deadline = spec.startingDeadlineSeconds;
    if (typeof deadline === "number" && time + deadline * second < this.now) throw new Error("too late");
    return plan;
  }
}

const change = fc.oneof(
  fc.record({ schedule }),
  fc.record({ concurrencyPolicy: fc.constantFrom("Allow" as const, "Forbid" as const, "Replace" as const) }),
  fc.record({ paused: fc.boolean() }),
  fc.record({
    successfulJobsHistoryLimit: fc.integer({ min: 0, max: 4 }),
    failedJobsHistoryLimit: fc.integer({ min: 0, max: 2 }),
  }),
  fc.record({
    startingDeadlineSeconds: fc.option(fc.integer({ min: 0, max: 600 }), { nil: undefined }),
  }),
);
const seconds = (max: number) => fc.integer({ min: 1, max });
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("run" as const), seconds: seconds(200) }) },
  fc.record({ do: fc.constant("away" as const), seconds: seconds(20_000) }),
  fc.record({ do: fc.constant("back" as const), seconds: seconds(3000) }),
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("end" as const),
      child: fc.nat(5),
      state: fc.constantFrom("succeeded" as const, "failed" as const),
    }),
  },
  fc.record({ do: fc.constant("vanish" as const), child: fc.nat(5) }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant("change" as const), change }) },
  fc.record({ do: fc.constant("crash" as const), writes: fc.nat(3) }),
  fc.record({ do: fc.constant("refused" as const) }),
  fc.record({ do: fc.constant("collect" as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

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
      // By its own time to live or by somebody's hand: after the status knows of it.
      if (child === undefined) return;
      model.settle();
      model.children.delete(child.name);
      return;
    case "change":
      model.change(each.change);
      return;
    case "crash":
      model.pass({ writes: each.writes });
      return;
    case "refused":
      model.pass({ refuses: true });
      return;
    case "collect":
      model.collect();
  }
}

t.test("a run is remembered in the status before its child goes, however soon it ends", async (t) => {
  const model = new CronModel({ successfulJobsHistoryLimit: 0 });
  model.now += 30_000;
  model.pass();
  const [name = ""] = model.names();
  model.end(name, "succeeded");
  // The status is not written where there is something to delete: it would be worked out again afterwards, of no child.
  t.match(model.plan(), { deletions: [], creation: undefined });
  model.pass();
  t.match(model.plan(), { deletions: [{ name }] });
  model.settle();
  t.same(model.names(), [name]);
  t.equal(model.children.size, 0);
});

t.test("property: no run twice, none too late, none lost; policies and limits hold", async (t) => {
  const run = fc.property(
    schedule,
    fc.array(change, { maxLength: 3 }),
    fc.boolean(),
    fc.array(step, { maxLength: 40 }),
    (first, changes, lingers, steps) => {
      const model = new Checked({ ...Object.assign({}, ...changes), schedule: first });
      model.lingers = lingers;
      for (const each of steps) take(model, each);
      if (new Set(model.names()).size !== model.made.length) throw new Error("a run twice");
      model.change({ paused: false });
      endAll(model);
      model.collect();
      model.settle();
      // What the reference would have given up goes on once it has a deadline.
      if (model.plan().waiting.some(({ reason }) => reason === "TooManyMissedTimes"))
        model.change({ startingDeadlineSeconds: 60 });
      const { metadata, status } = model.job;
      const known = [metadata.creationTimestamp, status?.lastScheduleTime].map(
        (each) => Date.parse(each ?? "") || 0,
      );
      model.now = Math.max(model.now, ...known);
      endAll(model);
      const before = model.made.length;
      model.run(((schedules[model.job.spec.schedule] ?? 1) + 1) * minute);
      if (model.made.length === before) throw new Error("the next time does not come");
      const { successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1 } = model.job.spec;
      model.change({ paused: true });
      endAll(model);
      model.settle();
      model.collect();
      if (model.children.size > Number(successfulJobsHistoryLimit) + Number(failedJobsHistoryLimit))
        throw new Error("history is not kept short");
      if (model.job.status?.active !== undefined) throw new Error("status lies");
    },
  );
  fc.assert(run, { seed, numRuns: 80 });
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
