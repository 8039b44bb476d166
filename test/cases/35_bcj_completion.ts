import assert from "node:assert/strict";
import { nameOf } from "./items.ts";
import { BroadcastJob, broadcastJob } from "./jobs.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "35",
  title: "BroadcastJob: completion policy",
  needs: [],
  async run(world) {
    const all = (await world.workers()).length;
    await world.step("1 time to live", async () => {
      const ttl = new BroadcastJob(world, "ttl");
      const seconds = world.seconds(30, 3);
      const completionPolicy = { type: "Always", ttlSecondsAfterFinished: seconds };
      const manifest = broadcastJob(world.version, "ttl", { completionPolicy });
      // A finalizer keeps it in sight after its deletion, whose time the server tells.
      await world.apply({ ...manifest, metadata: { name: "ttl", finalizers: ["refit.dev/case-looks"] } });
      await ttl.untilRow(`${all} 0 ${all} 0`, { stableMs: 0 });
      await world.once("it is deleted", async () => assert.ok((await ttl.get()).metadata.deletionTimestamp));
      const { metadata, status } = await ttl.get();
      const completed = Date.parse(String(status?.["completionTime"]));
      const lived = (Date.parse(metadata.deletionTimestamp ?? "") - completed) / 1000;
      assert.ok(lived >= seconds && lived < seconds + 10, `${lived} s`);
      await ttl.merge({ metadata: { finalizers: null } });
      await ttl.untilGone({ stableMs: 0 });
    });
    await world.step("2 deadline", async () => {
      const job = new BroadcastJob(world, "deadline");
      // Time enough for a busy machine to make all pods.
      const seconds = 10;
      const completionPolicy = { type: "Always", activeDeadlineSeconds: seconds };
      const trail = await world.trail(job.resource);
      await job.create({ completionPolicy }, { command: ["sleep", "600"] });
      await job.untilRow(`${all} 0 0 ${all}`);
      const active = (await trail.stop())
        .filter(({ object }) => nameOf(object) === "deadline")
        .map(({ object }) => object.status?.["active"] ?? 0);
      assert.ok(active.includes(all), `never all were active: ${active.join()}`);
      const { phase, conditions, completionTime, startTime } = {
        completionTime: undefined,
        startTime: undefined,
        ...(await job.status()),
      };
      assert.equal(phase, "failed");
      const words = `Job ${world.namespace}/deadline was active longer than specified deadline`;
      assert.deepEqual([conditions?.[0]?.type, conditions?.[0]?.message], ["Failed", words]);
      const took = Date.parse(String(completionTime)) - Date.parse(String(startTime));
      assert.ok(took >= seconds * 1000 && took <= (seconds + 10) * 1000, `${took} ms`);
      const message = `${words}: 0 pods succeeded, ${all} pods failed`;
      await job.untilEvent("DeadlineExceeded", { type: "Warning", message });
      await world.until("its pods are gone", async () =>
        assert.deepEqual((await job.pods()).map(nameOf), []),
      );
    });
    await world.step("3 Never has no end", async () => {
      const never = new BroadcastJob(world, "never");
      await never.create({ completionPolicy: { type: "Never" } });
      await never.untilRow(`${all} 0 ${all} 0`);
      await world.stays(async () => {
        const status = await never.status();
        assert.equal(status.phase, "running");
        assert.equal(status.conditions, undefined);
        assert.equal(status["completionTime"], undefined);
      });
    });
    await world.step("4 Never with an end is refused", async () => {
      const completionPolicy = { type: "Never", ttlSecondsAfterFinished: 30, activeDeadlineSeconds: 10 };
      await world.refuses(
        500,
        () => new BroadcastJob(world, "never-ttl").create({ completionPolicy }),
        "ttlSecondsAfterFinished can just work with Always CompletionPolicyType",
        "activeDeadlineSeconds can just work with Always CompletionPolicyType",
      );
    });
  },
};
