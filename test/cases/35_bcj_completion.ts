import assert from "node:assert/strict";
import { broadcastJob, Jobs } from "./jobs.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "35",
  title: "BroadcastJob: completion policy",
  needs: [],
  async run(world) {
    const jobs = new Jobs(world);
    const all = (await jobs.workers()).length;
    await world.step("1 time to live", async () => {
      const seconds = world.seconds(30, 3);
      const completionPolicy = { type: "Always", ttlSecondsAfterFinished: seconds };
      const job = broadcastJob(world.version, "ttl", { completionPolicy });
      // A finalizer keeps it in sight after its deletion, whose time the server tells.
      await world.apply({ ...job, metadata: { name: "ttl", finalizers: ["refit.dev/case-looks"] } });
      await jobs.untilRow(`ttl ${all} 0 ${all} 0`, { stableMs: 0 });
      let lived = 0;
      await world.until(
        "it is deleted",
        async () => {
          const { metadata, status } = await jobs.get("ttl");
          assert.ok(metadata.deletionTimestamp);
          const completed = Date.parse(String(status?.["completionTime"]));
          lived = (Date.parse(metadata.deletionTimestamp) - completed) / 1000;
        },
        { stableMs: 0 },
      );
      assert.ok(lived >= seconds && lived < seconds + 10, `${lived} s`);
      await jobs.patch("ttl", { metadata: { finalizers: null } });
      await jobs.untilGone("ttl", { timeoutMs: 60_000 });
    });
    await world.step("2 deadline", async () => {
      // Time enough for a busy machine to make all pods.
      const seconds = 10;
      const completionPolicy = { type: "Always", activeDeadlineSeconds: seconds };
      const job = broadcastJob(
        world.version,
        "deadline",
        { completionPolicy },
        { command: ["sleep", "600"] },
      );
      const trail = await world.trail(jobs.resource);
      await world.apply(job);
      await jobs.untilRow(`deadline ${all} 0 0 ${all}`);
      const active = (await trail.stop())
        .filter(({ object }) => object.metadata.name === "deadline")
        .map(({ object }) => object.status?.["active"] ?? 0);
      assert.ok(active.includes(all), `never all were active: ${active.join()}`);
      const { status } = await jobs.get("deadline");
      assert.equal(status?.phase, "failed");
      const condition = status?.conditions?.[0];
      assert.equal(condition?.type, "Failed");
      const words = `Job ${world.namespace}/deadline was active longer than specified deadline`;
      assert.equal(condition?.message, words);
      const took = Date.parse(String(status?.["completionTime"])) - Date.parse(String(status?.["startTime"]));
      assert.ok(took >= seconds * 1000 && took <= (seconds + 10) * 1000, `${took} ms`);
      await world.until(
        "an event tells it",
        async () => {
          const [event] = await jobs.events("deadline", "DeadlineExceeded");
          assert.equal(event?.type, "Warning");
          assert.equal(event?.message, `${words}: 0 pods succeeded, ${all} pods failed`);
        },
        { stableMs: 0 },
      );
      await world.until("its pods are gone", async () => assert.deepEqual(await jobs.pods("deadline"), []));
    });
    await world.step("3 Never has no end", async () => {
      await world.apply(broadcastJob(world.version, "never", { completionPolicy: { type: "Never" } }));
      await jobs.untilRow(`never ${all} 0 ${all} 0`);
      await world.stays(async () => {
        const { status } = await jobs.get("never");
        assert.equal(status?.phase, "running");
        assert.equal(status?.conditions, undefined);
        assert.equal(status?.["completionTime"], undefined);
      });
    });
    await world.step("4 Never with an end is refused", async () => {
      const completionPolicy = { type: "Never", ttlSecondsAfterFinished: 30, activeDeadlineSeconds: 10 };
      const job = broadcastJob(world.version, "never-ttl", { completionPolicy });
      const text = await world.refused(() => world.apply(job), 500);
      assert.match(text, /ttlSecondsAfterFinished can just work with Always CompletionPolicyType/);
      assert.match(text, /activeDeadlineSeconds can just work with Always CompletionPolicyType/);
    });
  },
};
