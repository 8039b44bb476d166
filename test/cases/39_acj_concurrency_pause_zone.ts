import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Item } from "../cluster/api.ts";
import { isGoing, nameOf, records } from "./items.ts";
import { CronJob, isOver, task, timeOfName } from "./jobs.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

/** One that is due each minute, on simulated nodes every few seconds. */
class Periodic extends CronJob {
  readonly period = this.world.seconds(60, 4);
  readonly schedule = this.world.simulated ? `@every ${this.period}s` : "*/1 * * * *";
  readonly limitMs = 4 * this.period * 1000 + 60_000;

  /** Jobs that end at once, or after one and a half periods. */
  make(length: "short" | "long", spec: object = {}): Promise<Item> {
    const command = length === "short" ? ["true"] : ["sleep", String(this.world.seconds(90, 6))];
    const template = { broadcastJobTemplate: { spec: { template: task({ command }) } } };
    return this.create({ schedule: this.schedule, template, ...spec });
  }

  async active(): Promise<number> {
    return (await this.children()).filter((child) => !isOver(child) && !isGoing(child)).length;
  }

  /** Watches it until it has made so many children; returns the most that were active at once. */
  async most(children: number): Promise<number> {
    let highest = 0;
    const names = new Set<string>();
    const probe = async () => {
      for (const child of await this.children()) names.add(nameOf(child));
      highest = Math.max(highest, await this.active());
      assert.ok(names.size >= children, [...names].join());
    };
    await this.world.once(`${children} children of ${this.name}`, probe, this.limitMs);
    return highest;
  }
}

/** Each waits for minutes to pass: suites of their own wait side by side. */
function suite(title: string, run: (world: World) => Promise<void>): Suite {
  return { number: "39", title: `AdvancedCronJob: ${title}`, needs: [], run };
}

export const overlapping = suite("overlap", async (world) => {
  await world.step("1 Allow: they overlap", async () => {
    const cron = new Periodic(world, "overlap");
    await cron.make("long", { concurrencyPolicy: "Allow" });
    const two = async () => {
      assert.ok((await cron.active()) >= 2);
      assert.ok(records((await cron.status())["active"]).length >= 2);
    };
    await world.until("two at once, both in the status", two, { timeoutMs: cron.limitMs, stableMs: 0 });
    await cron.remove();
  });
});

export const following = suite("one after the other", async (world) => {
  await world.step("2 Forbid: one after the other, the next as soon as one ends", async () => {
    const cron = new Periodic(world, "alone");
    await cron.make("long", { concurrencyPolicy: "Forbid" });
    assert.equal(await cron.most(2), 1);
    const [first, second] = await cron.children();
    assert.ok(first && second);
    const ended = Date.parse(String(first.status?.["completionTime"]));
    const begun = Date.parse(second.metadata.creationTimestamp);
    // All sandboxes and their controllers share the machine; that nobody waited for the next time, its name tells.
    assert.ok(begun - ended <= 10_000 && begun >= ended, `${begun - ended} ms`);
    // A job that ends in the second of a time is followed under that time.
    assert.ok(timeOfName(nameOf(second)) * 1000 <= begun, "under a time that has come");
    await cron.remove();
  });
});

export const replacing = suite("the newest replaces", async (world) => {
  await world.step("3 Replace: the older one goes", async () => {
    const cron = new Periodic(world, "newest");
    await cron.make("long", { concurrencyPolicy: "Replace" });
    assert.equal(await cron.most(3), 1);
    await cron.remove();
  });
});

export const pausing = suite("pause", async (world) => {
  await world.step("4 paused: nothing; resumed: the latest missed run, once", async () => {
    const cron = new Periodic(world, "rest");
    await cron.make("short");
    await cron.most(1);
    await cron.mergeSpec({ paused: true });
    // A run that was due before the controller learned of the pause.
    await sleep(Math.min(cron.period, 5) * 1000);
    const before = new Set((await cron.children()).map(nameOf));
    const fresh = async () => (await cron.children()).filter((child) => !before.has(nameOf(child)));
    await sleep(2 * cron.period * 1000 + 500);
    assert.deepEqual((await fresh()).map(nameOf), []);
    const asked = Date.now() / 1000;
    await cron.mergeSpec({ paused: false });
    const resumed = Date.now() / 1000;
    await world.once("a child at once", async () => {
      const children = await fresh();
      // What falls due after the resumption is not missed.
      const times = children.map(nameOf).map(timeOfName);
      const [time = 0, ...others] = times.filter((each) => each <= resumed);
      assert.ok(time > resumed - cron.period - 1, `${resumed - time} s late`);
      const missed = others.filter((each) => each <= asked);
      assert.deepEqual(missed, [], "of all that were missed");
      const made = Date.parse(children[0]?.metadata.creationTimestamp ?? "") / 1000;
      assert.ok(made - resumed < 10, `made ${made - resumed} s later`);
    });
    await cron.remove();
  });
});

export const zones = suite("time zone", async (world) => {
  const zoned = new Periodic(world, "zone");
  await world.step("5 the zone of the schedule", async () => {
    // The minute that is, as clocks in Shanghai show it: missed, and made up for at once.
    const minute = new Date(Math.floor(Date.now() / 60_000) * 60_000);
    const clock = `${minute.getUTCMinutes()} ${(minute.getUTCHours() + 8) % 24}`;
    const timeZone = "Asia/Shanghai";
    for (const [cron, spec] of [
      [zoned, { schedule: `${clock} * * *`, timeZone }],
      [new Periodic(world, "prefix"), { schedule: `TZ=${timeZone} ${clock} * * *` }],
    ] as const) {
      await cron.make("short", spec);
      await cron.lastScheduled(minute.getTime() - 3_600_000);
      const child = `${cron.name}-${minute.getTime() / 1000}`;
      await world.once(`the child of ${cron.name}`, async () =>
        assert.equal((await cron.children()).map(nameOf)[0], child),
      );
    }
  });
  await world.step("6 zones that are refused", async () => {
    const twice = { schedule: "TZ=Asia/Shanghai 0 8 * * *", timeZone: "Asia/Shanghai" };
    const words = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
    await world.refuses(422, () => new Periodic(world, "zone-twice").make("long", twice), words);
    for (const [timeZone, refusal] of [
      ["Local", "timeZone must be an explicit time zone"],
      ["No/Where", "unknown time zone No/Where"],
      ["", "timeZone must be nil or non-empty string"],
    ] as const) {
      await world.refuses(422, () => zoned.mergeSpec({ timeZone }), refusal);
    }
  });
});
