import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { cronJob, isOver, Jobs, task, timeOfName } from "./jobs.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "39",
  title: "AdvancedCronJob: overlap, pause, time zone",
  needs: [],
  async run(world) {
    const jobs = new Jobs(world);
    const period = world.seconds(60, 4);
    const schedule = world.simulated ? `@every ${period}s` : "*/1 * * * *";
    const limits = { timeoutMs: 4 * period * 1000 + 60_000, stableMs: 0 };
    const template = (command: string[]) => ({
      broadcastJobTemplate: { spec: { template: task({ command }) } },
    });
    const long = template(["sleep", String(world.seconds(90, 6))]);
    const active = async (name: string) =>
      (await jobs.children(name)).filter((child) => !isOver(child) && !child.metadata.deletionTimestamp);
    const seen = new Map<string, Set<string>>();
    /** Watches a cron job until it has made so many children; returns the most that were active at once. */
    const most = async (name: string, children: number): Promise<number> => {
      let highest = 0;
      const names = new Set<string>();
      seen.set(name, names);
      await world.until(
        `${children} children of ${name}`,
        async () => {
          for (const child of await jobs.children(name)) names.add(child.metadata.name);
          highest = Math.max(highest, (await active(name)).length);
          assert.ok(names.size >= children, [...names].join());
        },
        limits,
      );
      return highest;
    };
    await world.step("1 Allow: they overlap", async () => {
      const policy = { concurrencyPolicy: "Allow" };
      await world.apply(cronJob(world.version, "overlap", { schedule, ...policy, template: long }));
      await world.until(
        "two at once, both in the status",
        async () => {
          assert.ok((await active("overlap")).length >= 2);
          const { status } = await jobs.cron("overlap");
          assert.ok(Array.isArray(status?.["active"]) && status["active"].length >= 2);
        },
        limits,
      );
      await world.remove(jobs.crons, "overlap");
    });
    await world.step("2 Forbid: one after the other, the next as soon as one ends", async () => {
      const policy = { concurrencyPolicy: "Forbid" };
      await world.apply(cronJob(world.version, "alone", { schedule, ...policy, template: long }));
      assert.equal(await most("alone", 2), 1);
      const [first, second] = await jobs.children("alone");
      assert.ok(first && second);
      const ended = Date.parse(String(first.status?.["completionTime"]));
      const begun = Date.parse(second.metadata.creationTimestamp ?? "");
      // All sandboxes and their controllers share the machine; that nobody waited for the next time, its name tells.
      const late = world.simulated ? 10_000 : 2_000;
      assert.ok(begun - ended <= late && begun >= ended, `${begun - ended} ms`);
      // A job that ends in the second of a time is followed under that time.
      assert.ok(timeOfName(second.metadata.name) * 1000 <= begun, "under a time that has come");
      await world.remove(jobs.crons, "alone");
    });
    await world.step("3 Replace: the older one goes", async () => {
      const policy = { concurrencyPolicy: "Replace" };
      await world.apply(cronJob(world.version, "newest", { schedule, ...policy, template: long }));
      assert.equal(await most("newest", 3), 1);
      await world.remove(jobs.crons, "newest");
    });
    await world.step("4 paused: nothing; resumed: the latest missed run, once", async () => {
      await world.apply(cronJob(world.version, "rest", { schedule, template: template(["true"]) }));
      await most("rest", 1);
      await jobs.patch("rest", { spec: { paused: true } }, jobs.crons);
      const before = new Set((await jobs.children("rest")).map((child) => child.metadata.name));
      await sleep(2 * period * 1000 + 500);
      const paused = await jobs.children("rest");
      assert.deepEqual(
        paused.filter((child) => !before.has(child.metadata.name)),
        [],
      );
      await jobs.patch("rest", { spec: { paused: false } }, jobs.crons);
      const resumed = Date.now() / 1000;
      await world.until(
        "a child at once",
        async () => {
          const fresh = (await jobs.children("rest")).filter((child) => !before.has(child.metadata.name));
          const times = fresh.map((child) => timeOfName(child.metadata.name));
          // What falls due after the resumption is not missed.
          const [time = 0, ...others] = times.filter((each) => each <= resumed);
          assert.ok(time > resumed - period - 1, `${resumed - time} s late`);
          assert.deepEqual(others, [], "of all that were missed");
          const made = Date.parse(fresh[0]?.metadata.creationTimestamp ?? "") / 1000;
          assert.ok(made - resumed < world.seconds(3, 10), `made ${made - resumed} s later`);
        },
        { stableMs: 0 },
      );
      await world.remove(jobs.crons, "rest");
    });
    await world.step("5 the zone of the schedule", async () => {
      // A minute soon to come, as clocks in Shanghai show it.
      const soon = new Date(Math.ceil((Date.now() + 5000) / 60_000) * 60_000);
      const clock = `${soon.getUTCMinutes()} ${(soon.getUTCHours() + 8) % 24}`;
      const zone = "Asia/Shanghai";
      const make = (name: string, spec: object) =>
        world.apply(cronJob(world.version, name, { template: template(["true"]), ...spec }));
      await make("zone", { schedule: `${clock} * * *`, timeZone: zone });
      await make("prefix", { schedule: `TZ=${zone} ${clock} * * *` });
      for (const name of ["zone", "prefix"]) {
        await world.until(
          `the child of ${name}`,
          async () => {
            const [child] = await jobs.children(name);
            assert.equal(child?.metadata.name, `${name}-${soon.getTime() / 1000}`);
          },
          { timeoutMs: 75_000, stableMs: 0 },
        );
      }
    });
    await world.step("6 zones that are refused", async () => {
      const twice = { schedule: "TZ=Asia/Shanghai 0 8 * * *", timeZone: "Asia/Shanghai", template: long };
      const words = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
      const text = await world.refused(() => world.apply(cronJob(world.version, "zone-twice", twice)), 422);
      assert.ok(text.includes(words), text);
      for (const [timeZone, refusal] of [
        ["Local", "timeZone must be an explicit time zone"],
        ["No/Where", "unknown time zone No/Where"],
        ["", "timeZone must be nil or non-empty string"],
      ] as const) {
        const answer = await world.refused(() => jobs.patch("zone", { spec: { timeZone } }, jobs.crons), 422);
        assert.ok(answer.includes(refusal), answer);
      }
    });
  },
};
