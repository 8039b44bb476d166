import assert from "node:assert/strict";
import { nodeOf } from "./items.ts";
import { BroadcastJob } from "./jobs.ts";
import type { Suite } from "./suite.ts";

/** Steps of the cases 34 and 35 that change nodes: nothing else may run meanwhile. */
export const suite: Suite = {
  number: "b34",
  title: "BroadcastJob: nodes that do not fit, and nodes that join",
  needs: ["own-controller"],
  versions: ["v1beta1"],
  async run(world) {
    const controller = await world.startController();
    const workers = await world.workers();
    if (workers.length < 2) {
      world.skip("all", "needs two nodes without taints");
      await controller.stop();
      return;
    }
    const last = workers.at(-1) ?? "";
    const cordon = (unschedulable: boolean) =>
      world.patch("nodes", last, "merge", { spec: { unschedulable } });
    const [all, fewer] = [workers.length, workers.length - 1];
    const [some, never, long] = ["some", "never", "long"].map((name) => new BroadcastJob(world, name));
    assert.ok(some && never && long);
    const assertNoneOnLast = async (job: BroadcastJob) =>
      assert.ok(!(await job.pods()).map(nodeOf).includes(last));
    try {
      await world.step("34.3 a cordoned node gets no pod, also later", async () => {
        await cordon(true);
        await some.create({});
        await some.untilRow(`${fewer} 0 ${fewer} 0`);
        await assertNoneOnLast(some);
      });
      await world.step("35.3 with Never a node that joins gets its pod", async () => {
        await never.create({ completionPolicy: { type: "Never" } });
        await never.untilRow(`${fewer} 0 ${fewer} 0`);
        await cordon(false);
        await never.untilRow(`${all} 0 ${all} 0`);
        assert.equal((await never.status()).phase, "running");
      });
      await world.step("34.3 the completed job stays as it is", async () => {
        assert.equal(await some.row(), `${fewer} 0 ${fewer} 0`);
      });
      await world.step("an active pod leaves a node that no longer fits", async () => {
        await long.create({}, { command: ["sleep", "600"] });
        await long.untilRow(`${all} ${all} 0 0`);
        await cordon(true);
        await long.untilRow(`${fewer} ${fewer} 0 0`);
        await world.until("its pod is gone", () => assertNoneOnLast(long));
      });
    } finally {
      await cordon(false);
      await controller.stop();
    }
  },
};
