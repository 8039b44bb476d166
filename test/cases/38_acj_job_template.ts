import assert from "node:assert/strict";
import { cronJob, isOver, Jobs, task, timeOfName } from "./jobs.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "38",
  title: "AdvancedCronJob: built-in Jobs and history limits",
  needs: [],
  async run(world) {
    const jobs = new Jobs(world);
    const period = world.seconds(60, 4);
    const schedule = world.simulated ? `@every ${period}s` : "*/1 * * * *";
    const limits = { timeoutMs: 6 * period * 1000 + 60_000, stableMs: 0 };
    const template = (spec: object) => ({ jobTemplate: { spec } });
    const work = task({ command: ["echo", "done"] });
    await world.step("1 two cron jobs", async () => {
      const good = template({ parallelism: 2, completions: 4, template: work });
      const bad = template({ backoffLimit: 0, template: task({ command: ["false"] }) });
      const successfulJobsHistoryLimit = 2;
      await world.apply(
        cronJob(world.version, "acj-job", { schedule, successfulJobsHistoryLimit, template: good }),
      );
      await world.apply(cronJob(world.version, "acj-bad", { schedule, template: bad }));
    });
    await world.step("2 Jobs, and only the newest of them", async () => {
      let firstTime = Number.NaN;
      const names = new Set<string>();
      await world.until(
        "four runs",
        async () => {
          const children = await jobs.children("acj-job", "jobs.v1.batch");
          for (const child of children) names.add(child.metadata.name);
          firstTime = Math.min(...[...names].map(timeOfName));
          assert.ok(names.size >= 4, [...names].join());
          const over = children.filter(isOver);
          assert.equal(over.length, 2);
          assert.ok(over.every((child) => child.status?.["succeeded"] === 4));
          assert.ok(children.every((child) => timeOfName(child.metadata.name) > firstTime));
          assert.equal((await jobs.children("acj-bad", "jobs.v1.batch")).filter(isOver).length, 1);
        },
        limits,
      );
      const [oldest] = await jobs.children("acj-job", "jobs.v1.batch");
      assert.equal(oldest?.metadata.ownerReferences?.[0]?.kind, "AdvancedCronJob");
      const { status } = await jobs.cron("acj-job");
      assert.equal(status?.["type"], "Job");
      assert.ok(status?.["lastScheduleTime"]);
    });
    await world.step("3 templates and schedules that are refused", async () => {
      const refused = (name: string, spec: object) =>
        world.refused(() => world.apply(cronJob(world.version, name, spec)), 422);
      const both = { ...template({ template: work }), broadcastJobTemplate: { spec: { template: work } } };
      assert.match(
        await refused("two", { schedule, template: both }),
        /spec can have only one template, either JobTemplate or BroadcastJobTemplate/,
      );
      assert.match(await refused("none", { schedule, template: {} }), /spec must have one template, either /);
      const one = template({ template: work });
      assert.match(
        await refused("seven", { schedule: "0 0 * * 7", template: one }),
        /spec\.schedule: Invalid value: "0 0 \* \* 7": end of range \(7\) above maximum \(6\): 7/,
      );
      assert.match(
        await refused("words", { schedule: "not a schedule", template: one }),
        /spec\.schedule: .*expected exactly 5 fields, found 3: \[not a schedule\]/,
      );
    });
    await world.step("4 a running Job goes with its cron job", async () => {
      const long = template({ template: task({ command: ["sleep", "600"] }) });
      await world.apply(cronJob(world.version, "acj-long", { schedule, template: long }));
      await world.until(
        "a running Job",
        async () => {
          const [child] = await jobs.children("acj-long", "jobs.v1.batch");
          assert.equal(child?.status?.["active"], 1);
          const { status } = await jobs.cron("acj-long");
          assert.match(JSON.stringify(status?.["active"]), /"apiVersion":"batch\/v1"/);
        },
        limits,
      );
      for (const name of ["acj-long", "acj-job", "acj-bad"]) await world.remove(jobs.crons, name);
      await world.until("no Jobs, no pods", async () => {
        assert.deepEqual(await world.list("jobs.v1.batch"), []);
        assert.deepEqual(await world.list("pods"), []);
      });
    });
  },
};
