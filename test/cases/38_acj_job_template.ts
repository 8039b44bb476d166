import assert from "node:assert/strict";
import { firstOf, nameOf } from "./items.ts";
import { CronJob, isOver, task, timeOfName } from "./jobs.ts";
import type { Suite } from "./suite.ts";

const jobs = "jobs.v1.batch";
const ofJob = (spec: object) => ({ jobTemplate: { spec } });

export const suite: Suite = {
  number: "38",
  title: "AdvancedCronJob: built-in Jobs and history limits",
  needs: [],
  async run(world) {
    const period = world.seconds(60, 4);
    const schedule = world.simulated ? `@every ${period}s` : "*/1 * * * *";
    const limitMs = 6 * period * 1000 + 60_000;
    const work = task({ command: ["echo", "done"] });
    const [good, bad, long] = ["acj-job", "acj-bad", "acj-long"].map((name) => new CronJob(world, name));
    assert.ok(good && bad && long);
    await world.step("1 two cron jobs", async () => {
      const template = ofJob({ parallelism: 2, completions: 4, template: work });
      await good.create({ schedule, successfulJobsHistoryLimit: 2, template });
      const failing = ofJob({ backoffLimit: 0, template: task({ command: ["false"] }) });
      await bad.create({ schedule, template: failing });
    });
    await world.step("2 Jobs, and only the newest of them", async () => {
      const names = new Set<string>();
      const fourRuns = async () => {
        const children = await good.children(jobs);
        for (const child of children) names.add(nameOf(child));
        const firstTime = Math.min(...[...names].map(timeOfName));
        assert.ok(names.size >= 4, [...names].join());
        const succeeded = children.filter(isOver).map(({ status }) => status?.["succeeded"]);
        assert.deepEqual(succeeded, [4, 4]);
        assert.ok(children.every((child) => timeOfName(nameOf(child)) > firstTime));
        assert.equal((await bad.children(jobs)).filter(isOver).length, 1);
      };
      await world.once("four runs", fourRuns, limitMs);
      const oldest = firstOf(await good.children(jobs));
      assert.equal(oldest.metadata.ownerReferences?.[0]?.kind, "AdvancedCronJob");
      const status = await good.status();
      assert.equal(status["type"], "Job");
      assert.ok(status["lastScheduleTime"]);
    });
    await world.step("3 templates and schedules that are refused", async () => {
      const one = ofJob({ template: work });
      const both = { ...one, broadcastJobTemplate: { spec: { template: work } } };
      const refusals: readonly [name: string, spec: object, words: RegExp][] = [
        [
          "two",
          { schedule, template: both },
          /spec can have only one template, either JobTemplate or BroadcastJobTemplate/,
        ],
        ["none", { schedule, template: {} }, /spec must have one template, either /],
        [
          "seven",
          { schedule: "0 0 * * 7", template: one },
          /spec\.schedule: Invalid value: "0 0 \* \* 7": end of range \(7\) above maximum \(6\): 7/,
        ],
        [
          "words",
          { schedule: "not a schedule", template: one },
          /spec\.schedule: .*expected exactly 5 fields, found 3: \[not a schedule\]/,
        ],
      ];
      for (const [name, spec, words] of refusals)
        await world.refuses(422, () => new CronJob(world, name).create(spec), words);
    });
    await world.step("4 a running Job goes with its cron job", async () => {
      await long.create({ schedule, template: ofJob({ template: task({ command: ["sleep", "600"] }) }) });
      const runs = async () => {
        assert.equal(firstOf(await long.children(jobs)).status?.["active"], 1);
        assert.match(JSON.stringify((await long.status())["active"]), /"apiVersion":"batch\/v1"/);
      };
      await world.once("a running Job", runs, limitMs);
      for (const cron of [long, good, bad]) await cron.remove();
      await world.until("no Jobs, no pods", async () => {
        for (const resource of [jobs, "pods"])
          assert.deepEqual((await world.list(resource)).map(nameOf), [], resource);
      });
    });
  },
};
