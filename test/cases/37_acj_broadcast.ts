import assert from "node:assert/strict";
import { cronJob, isOver, Jobs, task, timeOfName } from "./jobs.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "37",
  title: "AdvancedCronJob: a BroadcastJob at every time",
  needs: [],
  async run(world) {
    const jobs = new Jobs(world);
    const all = (await jobs.workers()).length;
    // Simulated nodes leave no time for whole minutes.
    const period = world.seconds(60, 5);
    const schedule = world.simulated ? `@every ${period}s` : "*/1 * * * *";
    const ttl = world.seconds(30, 8);
    const spec = {
      schedule,
      template: {
        broadcastJobTemplate: {
          spec: {
            completionPolicy: { type: "Always", ttlSecondsAfterFinished: ttl },
            template: task(),
          },
        },
      },
    };
    const limits = { timeoutMs: 3 * period * 1000 + 30_000, stableMs: 0 };
    await world.step("1 create", async () => {
      const made = await world.apply(cronJob(world.version, "acj-test", spec));
      assert.equal(made.spec?.["concurrencyPolicy"], "Allow");
      assert.equal(made.spec?.["paused"], false);
      const columns = await world.printed(jobs.crons);
      assert.deepEqual(columns.header, ["NAME", "SCHEDULE", "TYPE", "LASTSCHEDULETIME", "AGE"]);
      await world.until(
        "its type",
        async () => assert.equal((await jobs.cron("acj-test")).status?.["type"], "BroadcastJob"),
        { stableMs: 0 },
      );
      // Only a time of the schedule brings one; on a machine that stalls the first may be over by now.
      const { metadata, status } = await jobs.cron("acj-test");
      const last = status?.["lastScheduleTime"];
      assert.ok(
        last === undefined || Date.parse(String(last)) > Date.parse(metadata.creationTimestamp ?? ""),
      );
    });
    let first = "";
    // Children are gone soon after their end.
    const made = await world.trail(jobs.resource);
    await world.step("2 the first child", async () => {
      await world.until(
        "a child that is done",
        async () => {
          const [child] = await jobs.children("acj-test");
          assert.ok(child && isOver(child));
          first = child.metadata.name;
        },
        limits,
      );
      const child = await jobs.get(first);
      assert.equal(await jobs.row(first), `${first} ${all} 0 ${all} 0`);
      const seconds = timeOfName(first);
      if (!world.simulated) assert.equal(seconds % 60, 0);
      const scheduled = child.metadata.annotations?.["apps.kruise.io/scheduled-at"];
      assert.equal(Date.parse(scheduled ?? ""), seconds * 1000);
      const owner = child.metadata.ownerReferences?.[0];
      assert.deepEqual([owner?.kind, owner?.apiVersion], ["AdvancedCronJob", "apps.kruise.io/v1beta1"]);
      for (const pod of await jobs.pods(first)) {
        assert.match(pod.metadata.name, new RegExp(`^${first}-[a-z0-9]{5}$`));
      }
      await world.until(
        "the time of the newest child, which may be another one by now",
        async () => {
          const newest = (await jobs.children("acj-test")).at(-1)?.metadata.name ?? "";
          const { status } = await jobs.cron("acj-test");
          assert.equal(Date.parse(String(status?.["lastScheduleTime"])), timeOfName(newest) * 1000);
        },
        { stableMs: 0 },
      );
    });
    await world.step("2 the second child, one period later", async () => {
      await world.until(
        "a second child",
        async () => {
          const names = [...new Set(made.moments.map(({ object }) => object.metadata.name))];
          // Of times that a controller missed only the latest has a child.
          const later = names
            .map((name) => timeOfName(name) - timeOfName(first))
            .filter((after) => after > 0);
          assert.ok(later.length > 0 && later.every((after) => after % period === 0), names.join());
        },
        limits,
      );
    });
    await world.step("3 children go after their time to live", () => jobs.untilGone(first, limits));
    await world.step("4 the other version is the same object; templates stay", async () => {
      const { uid } = (await jobs.cron("acj-test")).metadata;
      const other = world.version === "v1alpha1" ? "v1beta1" : "v1alpha1";
      const applied = await world.apply(cronJob(other, "acj-test", spec));
      assert.equal(applied.metadata.uid, uid);
      const image = [
        {
          op: "replace",
          path: "/spec/template/broadcastJobTemplate/spec/template/spec/containers/0/image",
          value: "busybox:1.35",
        },
      ];
      const text = await world.refused(() => world.patch("acj-test", "json", image, jobs.crons), 422);
      assert.match(text, /spec: Forbidden: updates to advancedcronjob spec for fields other than 'imageList/);
    });
    await world.step("5 a time of the clock that was missed is made up for at once", async () => {
      await world.apply(cronJob(world.version, "acj-clock", { ...spec, schedule: "*/1 * * * *" }));
      await jobs.lastScheduled("acj-clock", Date.now() - 90_000);
      await world.until(
        "a child of a full minute",
        async () => {
          const names = made.moments.map(({ object }) => object.metadata.name);
          const child = names.find((one) => one.startsWith("acj-clock-"));
          assert.ok(child !== undefined && timeOfName(child) % 60 === 0, names.join());
        },
        { ...limits, timeoutMs: 30_000 },
      );
      await world.remove(jobs.crons, "acj-clock");
    });
    await world.step("6 what is left goes with it", async () => {
      await world.remove(jobs.crons, "acj-test");
      await world.until("no children", async () => {
        assert.deepEqual(await jobs.children("acj-test"), []);
        assert.deepEqual(await world.list("pods"), []);
      });
    });
  },
};
