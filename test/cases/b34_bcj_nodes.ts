import assert from "node:assert/strict";
import { broadcastJob, Jobs } from "./jobs.ts";
import type { Suite } from "./suite.ts";

/** Steps of the cases 34 and 35 that change nodes: nothing else may run meanwhile. */
export const suite: Suite = {
  number: "b34",
  title: "BroadcastJob: nodes that do not fit, and nodes that join",
  needs: ["own-controller"],
  versions: ["v1beta1"],
  async run(world) {
    const jobs = new Jobs(world);
    const controller = await world.startController();
    const workers = await jobs.workers();
    if (workers.length < 2) {
      world.skip("all", "needs two nodes without taints");
      await controller.stop();
      return;
    }
    const last = workers.at(-1) ?? "";
    const cordon = (unschedulable: boolean) =>
      world.api.patch("nodes", last, undefined, "merge", { spec: { unschedulable } });
    const fewer = workers.length - 1;
    try {
      await world.step("34.3 a cordoned node gets no pod, also later", async () => {
        await cordon(true);
        await world.apply(broadcastJob(world.version, "some", {}));
        await jobs.untilRow(`some ${fewer} 0 ${fewer} 0`);
        const nodes = (await jobs.pods("some")).map((pod) => pod.spec?.nodeName);
        assert.ok(!nodes.includes(last));
      });
      await world.step("35.3 with Never a node that joins gets its pod", async () => {
        await world.apply(broadcastJob(world.version, "never", { completionPolicy: { type: "Never" } }));
        await jobs.untilRow(`never ${fewer} 0 ${fewer} 0`);
        await cordon(false);
        await jobs.untilRow(`never ${workers.length} 0 ${workers.length} 0`);
        assert.equal((await jobs.get("never")).status?.phase, "running");
      });
      await world.step("34.3 the completed job stays as it is", async () => {
        assert.equal(await jobs.row("some"), `some ${fewer} 0 ${fewer} 0`);
      });
      await world.step("an active pod leaves a node that no longer fits", async () => {
        await world.apply(broadcastJob(world.version, "long", {}, { command: ["sleep", "600"] }));
        await jobs.untilRow(`long ${workers.length} ${workers.length} 0 0`);
        await cordon(true);
        await jobs.untilRow(`long ${fewer} ${fewer} 0 0`);
        await world.until("its pod is gone", async () => {
          assert.ok((await jobs.pods("long")).every((pod) => pod.spec?.nodeName !== last));
        });
      });
    } finally {
      await cordon(false);
      await controller.stop();
    }
  },
};
