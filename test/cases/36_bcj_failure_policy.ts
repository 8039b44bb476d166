import assert from "node:assert/strict";
import { nameOf, phaseOf } from "./items.ts";
import { BroadcastJob } from "./jobs.ts";
import type { Suite } from "./suite.ts";

const failing = { command: ["false"] };
const failFastWords = "failure policy is FailurePolicyTypeFailFast and failed pod is found";

export const suite: Suite = {
  number: "36",
  title: "BroadcastJob: failure policy",
  needs: [],
  async run(world) {
    const all = (await world.workers()).length;
    await world.step("1 FailFast", async () => {
      const job = new BroadcastJob(world, "failfast");
      await job.create({ parallelism: 1 }, failing);
      await job.untilRow(`${all} 0 0 1`);
      const { phase, conditions } = await job.status();
      assert.equal(phase, "failed");
      const { type, reason, message } = conditions?.[0] ?? {};
      assert.deepEqual([type, reason, message], ["Failed", "Failed", failFastWords]);
      assert.deepEqual((await job.pods()).map(phaseOf), ["Failed"]);
      const told = `${failFastWords}: 0 pods succeeded, 1 pods failed`;
      await job.untilEvent("failed pod is found", { type: "Warning", message: told });
    });
    await world.step("2 Continue", async () => {
      const job = new BroadcastJob(world, "goon");
      await job.create({ parallelism: 1, failurePolicy: { type: "Continue" } }, failing);
      await job.untilRow(`${all} 0 0 ${all}`);
      const { phase, conditions } = await job.status();
      assert.equal(phase, "completed");
      assert.equal(conditions?.[0]?.message, `Job completed, 0 pods succeeded, ${all} pods failed`);
      await world.once("an event tells it", async () =>
        assert.equal((await job.events("JobComplete")).length, 1),
      );
    });
    await world.step("3 Pause, and on with Continue", async () => {
      const job = new BroadcastJob(world, "halt");
      await job.create({ parallelism: 1, failurePolicy: { type: "Pause" } }, failing);
      await job.untilRow(`${all} 0 0 1`);
      const { phase, conditions } = await job.status();
      assert.equal(phase, "paused");
      assert.equal(conditions, undefined);
      await job.untilEvent("Paused", { message: "job is paused, due to failed pod" });
      await job.mergeSpec({ failurePolicy: { type: "Continue" } });
      await job.untilRow(`${all} 0 0 ${all}`);
      assert.equal((await job.status()).phase, "completed");
    });
    await world.step("4 a pod that restarts too often has failed", async () => {
      const job = new BroadcastJob(world, "limit");
      const failurePolicy = { type: "FailFast", restartLimit: world.seconds(2, 1) };
      const command = ["sh", "-c", "sleep 1; exit 1"];
      await job.create({ failurePolicy }, { command, restartPolicy: "OnFailure" });
      await job.untilRow(`${all} 0 0 ${all}`, { timeoutMs: 180_000 });
      assert.equal((await job.status()).conditions?.[0]?.message, failFastWords);
      await world.until("all pods end", async () => assert.deepEqual((await job.pods()).map(nameOf), []));
    });
  },
};
