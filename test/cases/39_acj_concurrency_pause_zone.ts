import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { cronJob, isOver, Jobs, task, timeOfName } from "./jobs.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

/** Cron jobs of which one is due each minute, on simulated nodes every few seconds. */
class CronJobs {
  readonly #world: World;
  readonly jobs: Jobs;
  readonly period: number;
  readonly schedule: string;
  readonly limits: { timeoutMs: number; stableMs: number };

  constructor(world: World) {
    this.jobs = new Jobs(world);
    this.period = world.seconds(60, 4);
    this.schedule = world.simulated ? `@every ${this.period}s` : "*/1 * * * *";
    this.limits = { timeoutMs: 4 * this.period * 1000 + 60_000, stableMs: 0 };
    this.#world = world;
  }

  /** Ends at once, or after one and a half periods. */
  template(length: "short" | "long"): object {
    const command = length === "short" ? ["true"] : ["sleep", String(this.#world.seconds(90, 6))];
    return { broadcastJobTemplate: { spec: { template: task({ command }) } } };
  }

  async apply(name: string, spec: object): Promise<void> {
    await this.#world.apply(cronJob(this.#world.version, name, { schedule: this.schedule, ...spec }));
  }

  async active(name: string): Promise<number> {
    const children = await this.jobs.children(name);
    return children.filter((child) => !isOver(child) && !child.metadata.deletionTimestamp).length;
  }

  /** Watches a cron job until it has made so many children; returns the most that were active at once. */
  async most(name: string, children: number): Promise<number> {
    let highest = 0;
    const names = new Set<string>();
    await this.#world.until(
      `${children} children of ${name}`,
      async () => {
        for (const child of await this.jobs.children(name)) names.add(child.metadata.name);
        highest = Math.max(highest, await this.active(name));
        assert.ok(names.size >= children, [...names].join());
      },
      this.limits,
    );
    return highest;
  }
}

/** Each waits for minutes to pass: suites of their own wait side by side. */
function suite(title: string, run: (world: World, cron: CronJobs) => Promise<void>): Suite {
  return {
    number: "39",
    title: `AdvancedCronJob: ${title}`,
    needs: [],
    run: (world) => run(world, new CronJobs(world)),
  };
}

export const overlapping = suite("overlap", async (world, cron) => {
  await world.step("1 Allow: they overlap", async () => {
    const policy = { concurrencyPolicy: "Allow" };
    await cron.apply("overlap", { ...policy, template: cron.template("long") });
    await world.until(
      "two at once, both in the status",
      async () => {
        assert.ok((await cron.active("overlap")) >= 2);
        const { status } = await cron.jobs.cron("overlap");
        assert.ok(Array.isArray(status?.["active"]) && status["active"].length >= 2);
      },
      cron.limits,
    );
    await world.remove(cron.jobs.crons, "overlap");
  });
});

export const following = suite("one after the other", async (world, cron) => {
  await world.step("2 Forbid: one after the other, the next as soon as one ends", async () => {
    const policy = { concurrencyPolicy: "Forbid" };
    await cron.apply("alone", { ...policy, template: cron.template("long") });
    assert.equal(await cron.most("alone", 2), 1);
    const [first, second] = await cron.jobs.children("alone");
    assert.ok(first && second);
    const ended = Date.parse(String(first.status?.["completionTime"]));
    const begun = Date.parse(second.metadata.creationTimestamp ?? "");
    // All sandboxes and their controllers share the machine; that nobody waited for the next time, its name tells.
    assert.ok(begun - ended <= 10_000 && begun >= ended, `${begun - ended} ms`);
    // A job that ends in the second of a time is followed under that time.
    assert.ok(timeOfName(second.metadata.name) * 1000 <= begun, "under a time that has come");
    await world.remove(cron.jobs.crons, "alone");
  });
});

export const replacing = suite("the newest replaces", async (world, cron) => {
  await world.step("3 Replace: the older one goes", async () => {
    const policy = { concurrencyPolicy: "Replace" };
    await cron.apply("newest", { ...policy, template: cron.template("long") });
    assert.equal(await cron.most("newest", 3), 1);
    await world.remove(cron.jobs.crons, "newest");
  });
});

export const pausing = suite("pause", async (world, cron) => {
  await world.step("4 paused: nothing; resumed: the latest missed run, once", async () => {
    await cron.apply("rest", { template: cron.template("short") });
    await cron.most("rest", 1);
    await cron.jobs.patch("rest", { spec: { paused: true } }, cron.jobs.crons);
    // A run that was due before the controller learned of the pause.
    await sleep(Math.min(cron.period, 5) * 1000);
    const before = new Set((await cron.jobs.children("rest")).map((child) => child.metadata.name));
    await sleep(2 * cron.period * 1000 + 500);
    const paused = await cron.jobs.children("rest");
    assert.deepEqual(
      paused.filter((child) => !before.has(child.metadata.name)),
      [],
    );
    const asked = Date.now() / 1000;
    await cron.jobs.patch("rest", { spec: { paused: false } }, cron.jobs.crons);
    const resumed = Date.now() / 1000;
    await world.until(
      "a child at once",
      async () => {
        const fresh = (await cron.jobs.children("rest")).filter((child) => !before.has(child.metadata.name));
        const times = fresh.map((child) => timeOfName(child.metadata.name));
        // What falls due after the resumption is not missed.
        const [time = 0, ...others] = times.filter((each) => each <= resumed);
        assert.ok(time > resumed - cron.period - 1, `${resumed - time} s late`);
        assert.deepEqual(
          others.filter((each) => each <= asked),
          [],
          "of all that were missed",
        );
        const made = Date.parse(fresh[0]?.metadata.creationTimestamp ?? "") / 1000;
        assert.ok(made - resumed < 10, `made ${made - resumed} s later`);
      },
      { stableMs: 0 },
    );
    await world.remove(cron.jobs.crons, "rest");
  });
});

export const zones = suite("time zone", async (world, cron) => {
  await world.step("5 the zone of the schedule", async () => {
    // The minute that is, as clocks in Shanghai show it: missed, and made up for at once.
    const minute = new Date(Math.floor(Date.now() / 60_000) * 60_000);
    const clock = `${minute.getUTCMinutes()} ${(minute.getUTCHours() + 8) % 24}`;
    const zone = "Asia/Shanghai";
    for (const [name, spec] of [
      ["zone", { schedule: `${clock} * * *`, timeZone: zone }],
      ["prefix", { schedule: `TZ=${zone} ${clock} * * *` }],
    ] as const) {
      await cron.apply(name, { template: cron.template("short"), ...spec });
      await cron.jobs.lastScheduled(name, minute.getTime() - 3_600_000);
      await world.until(
        `the child of ${name}`,
        async () => {
          const [child] = await cron.jobs.children(name);
          assert.equal(child?.metadata.name, `${name}-${minute.getTime() / 1000}`);
        },
        { stableMs: 0 },
      );
    }
  });
  await world.step("6 zones that are refused", async () => {
    const twice = {
      schedule: "TZ=Asia/Shanghai 0 8 * * *",
      timeZone: "Asia/Shanghai",
      template: cron.template("long"),
    };
    const words = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
    const text = await world.refused(() => world.apply(cronJob(world.version, "zone-twice", twice)), 422);
    assert.ok(text.includes(words), text);
    for (const [timeZone, refusal] of [
      ["Local", "timeZone must be an explicit time zone"],
      ["No/Where", "unknown time zone No/Where"],
      ["", "timeZone must be nil or non-empty string"],
    ] as const) {
      const answer = await world.refused(
        () => cron.jobs.patch("zone", { spec: { timeZone } }, cron.jobs.crons),
        422,
      );
      assert.ok(answer.includes(refusal), answer);
    }
  });
});
