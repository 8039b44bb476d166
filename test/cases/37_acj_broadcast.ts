import assert from "node:assert/strict";
import { firstOf, nameOf, uidOf } from "./items.ts";
import { BroadcastJob, CronJob, isOver, task, timeOfName } from "./jobs.ts";
import { replacePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";

const imagePath = "/spec/template/broadcastJobTemplate/spec/template/spec/containers/0/image";

export const suite: Suite = {
  number: "37",
  title: "AdvancedCronJob: a BroadcastJob at every time",
  needs: [],
  async run(world) {
    const all = (await world.workers()).length;
    // Simulated nodes leave no time for whole minutes.
    const period = world.seconds(60, 5);
    const schedule = world.simulated ? `@every ${period}s` : "*/1 * * * *";
    const completionPolicy = { type: "Always", ttlSecondsAfterFinished: world.seconds(30, 8) };
    const template = { broadcastJobTemplate: { spec: { completionPolicy, template: task() } } };
    const limitMs = 3 * period * 1000 + 30_000;
    const cron = new CronJob(world, "acj-test");
    const lastTime = async () => (await cron.status())["lastScheduleTime"];
    await world.step("1 create", async () => {
      const { spec } = await cron.create({ schedule, template });
      assert.equal(spec?.["concurrencyPolicy"], "Allow");
      assert.equal(spec?.["paused"], false);
      assert.equal(await cron.columns(), "NAME SCHEDULE TYPE LASTSCHEDULETIME AGE");
      await world.once("its type", async () => assert.equal((await cron.status())["type"], "BroadcastJob"));
      // Only a time of the schedule brings one; on a machine that stalls the first may be over by now.
      const { metadata, status } = await cron.get();
      const last = status?.["lastScheduleTime"];
      assert.ok(last === undefined || Date.parse(String(last)) > Date.parse(metadata.creationTimestamp));
    });
    let first = "";
    // Children are gone soon after their end.
    const made = await world.trail(new BroadcastJob(world, "any").resource);
    const seen = () => [...new Set(made.moments.map(({ object }) => nameOf(object)))];
    await world.step("2 the first child", async () => {
      const done = async () => {
        const child = firstOf(await cron.children());
        assert.ok(isOver(child));
        first = nameOf(child);
      };
      await world.once("a child that is done", done, limitMs);
      const job = new BroadcastJob(world, first);
      const { metadata } = await job.get();
      assert.equal(await job.row(), `${all} 0 ${all} 0`);
      const seconds = timeOfName(first);
      if (!world.simulated) assert.equal(seconds % 60, 0);
      const scheduled = metadata.annotations?.["apps.kruise.io/scheduled-at"];
      assert.equal(Date.parse(scheduled ?? ""), seconds * 1000);
      const owner = metadata.ownerReferences?.[0];
      assert.deepEqual([owner?.kind, owner?.apiVersion], ["AdvancedCronJob", "apps.kruise.io/v1beta1"]);
      const name = new RegExp(`^${first}-[a-z0-9]{5}$`);
      for (const pod of await job.pods()) assert.match(nameOf(pod), name);
      await world.once("the time of the newest child, which may be another one by now", async () => {
        const newest = (await cron.children()).map(nameOf).at(-1) ?? "";
        assert.equal(Date.parse(String(await lastTime())), timeOfName(newest) * 1000);
      });
    });
    await world.step("2 the second child, one period later", async () => {
      const another = async () => {
        // Of times that a controller missed only the latest has a child.
        const later = seen()
          .map((name) => timeOfName(name) - timeOfName(first))
          .filter((after) => after > 0);
        assert.ok(later.length > 0 && later.every((after) => after % period === 0), seen().join());
      };
      await world.once("a second child", another, limitMs);
    });
    await world.step("3 children go after their time to live", () =>
      new BroadcastJob(world, first).untilGone({ timeoutMs: limitMs, stableMs: 0 }),
    );
    await world.step("4 the other version is the same object; templates stay", async () => {
      const other = world.version === "v1alpha1" ? "v1beta1" : "v1alpha1";
      const before = await cron.get();
      assert.equal(uidOf(await cron.create({ schedule, template }, other)), uidOf(before));
      const send = () => cron.patch("json", replacePatch(imagePath, "busybox:1.35"));
      const words = "spec: Forbidden: updates to advancedcronjob spec for fields other than 'imageList";
      await world.refuses(422, send, words);
    });
    await world.step("5 a time of the clock that was missed is made up for at once", async () => {
      const clock = new CronJob(world, "acj-clock");
      await clock.create({ schedule: "*/1 * * * *", template });
      await clock.lastScheduled(Date.now() - 90_000);
      const probe = async () => {
        const child = seen().find((one) => one.startsWith("acj-clock-"));
        assert.ok(child !== undefined && timeOfName(child) % 60 === 0, seen().join());
      };
      await world.once("a child of a full minute", probe, 30_000);
      await clock.remove();
    });
    await world.step("6 what is left goes with it", async () => {
      await cron.remove();
      await world.until("no children", async () => {
        assert.deepEqual((await cron.children()).map(nameOf), []);
        assert.deepEqual((await world.list("pods")).map(nameOf), []);
      });
    });
  },
};
