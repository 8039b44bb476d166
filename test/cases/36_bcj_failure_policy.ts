import assert from "node:assert/strict";
import { broadcastJob, Jobs } from "./jobs.ts";
import type { Suite } from "./suite.ts";

const failing = { command: ["false"] };
const failFastWords = "failure policy is FailurePolicyTypeFailFast and failed pod is found";

export const suite: Suite = {
  number: "36",
  title: "BroadcastJob: failure policy",
  needs: [],
  async run(world) {
    const jobs = new Jobs(world);
    const all = (await jobs.workers()).length;
    await world.step("1 FailFast", async () => {
      await world.apply(broadcastJob(world.version, "failfast", { parallelism: 1 }, failing));
      await jobs.untilRow(`failfast ${all} 0 0 1`);
      const { status } = await jobs.get("failfast");
      assert.equal(status?.phase, "failed");
      const condition = status?.conditions?.[0];
      assert.deepEqual([condition?.type, condition?.reason], ["Failed", "Failed"]);
      assert.equal(condition?.message, failFastWords);
      assert.deepEqual(
        (await jobs.pods("failfast")).map((pod) => pod.status?.phase),
        ["Failed"],
      );
      await world.until(
        "an event tells it",
        async () => {
          const [event] = await jobs.events("failfast", "failed pod is found");
          assert.equal(event?.type, "Warning");
          assert.equal(event?.message, `${failFastWords}: 0 pods succeeded, 1 pods failed`);
        },
        { stableMs: 0 },
      );
    });
    await world.step("2 Continue", async () => {
      const spec = { parallelism: 1, failurePolicy: { type: "Continue" } };
      await world.apply(broadcastJob(world.version, "goon", spec, failing));
      await jobs.untilRow(`goon ${all} 0 0 ${all}`);
      const { status } = await jobs.get("goon");
      assert.equal(status?.phase, "completed");
      const words = `Job completed, 0 pods succeeded, ${all} pods failed`;
      assert.equal(status?.conditions?.[0]?.message, words);
      await world.until(
        "an event tells it",
        async () => {
          assert.equal((await jobs.events("goon", "JobComplete")).length, 1);
        },
        { stableMs: 0 },
      );
    });
    await world.step("3 Pause, and on with Continue", async () => {
      const spec = { parallelism: 1, failurePolicy: { type: "Pause" } };
      await world.apply(broadcastJob(world.version, "halt", spec, failing));
      await jobs.untilRow(`halt ${all} 0 0 1`);
      const { status } = await jobs.get("halt");
      assert.equal(status?.phase, "paused");
      assert.equal(status?.conditions, undefined);
      await world.until(
        "an event tells it",
        async () => {
          const [event] = await jobs.events("halt", "Paused");
          assert.equal(event?.message, "job is paused, due to failed pod");
        },
        { stableMs: 0 },
      );
      await jobs.patch("halt", { spec: { failurePolicy: { type: "Continue" } } });
      await jobs.untilRow(`halt ${all} 0 0 ${all}`);
      assert.equal((await jobs.get("halt")).status?.phase, "completed");
    });
    await world.step("4 a pod that restarts too often has failed", async () => {
      const spec = { failurePolicy: { type: "FailFast", restartLimit: world.seconds(2, 1) } };
      const command = ["sh", "-c", "sleep 1; exit 1"];
      await world.apply(broadcastJob(world.version, "limit", spec, { command, restartPolicy: "OnFailure" }));
      await jobs.untilRow(`limit ${all} 0 0 ${all}`, { timeoutMs: 180_000 });
      const { status } = await jobs.get("limit");
      assert.equal(status?.conditions?.[0]?.message, failFastWords);
      await world.until("all pods end", async () => assert.deepEqual(await jobs.pods("limit"), []));
    });
  },
};
