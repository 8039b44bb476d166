import assert from "node:assert/strict";
import { orderOfNewPods, StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "24",
  title: "Advanced StatefulSet: paused",
  needs: [],
  versions: ["v1alpha1", "v1beta1"],
  async run(world) {
    const halt = new StatefulSet(world, "halt");
    await world.step("1 create", async () => {
      const podSpec = { terminationGracePeriodSeconds: 2 };
      await halt.start({ replicas: 3, rollingUpdate: { paused: true }, podSpec });
    });
    const before = await halt.uids();
    await world.step("2 no pod changes", async () => {
      await halt.toImage("nginx:1.21");
      await halt.untilRow("3 3 0 3");
      await world.stays(async () => assert.deepEqual(await halt.uids(), before));
      const { updateRevision, currentRevision } = await halt.status();
      assert.notEqual(updateRevision, currentRevision);
    });
    await world.step("3 new pods are new", async () => {
      await halt.scale(5);
      await halt.untilRow("5 5 2 5");
      assert.deepEqual(Object.values(await halt.tags()), ["1.20", "1.20", "1.20", "1.21", "1.21"]);
      const after = await halt.uids();
      for (const [name, uid] of before) assert.equal(after.get(name), uid);
    });
    await world.step("4 so are pods that are replaced", async () => {
      await world.remove("pods", "halt-1");
      await halt.untilRow("5 5 3 5");
      assert.equal((await halt.tags())["halt-1"], "1.21");
      assert.notEqual((await halt.uids()).get("halt-1"), before.get("halt-1"));
    });
    await world.step("5 scaling in goes on", async () => {
      await halt.scale(4);
      await halt.untilRow("4 4 2 4");
      assert.deepEqual(await halt.ordinals(), [0, 1, 2, 3]);
    });
    await world.step("6 resumed", async () => {
      const trail = await halt.trail();
      await halt.roll({ paused: false });
      await halt.untilAll(4);
      const { updateRevision, currentRevision } = await halt.status();
      assert.equal(updateRevision, currentRevision);
      assert.deepEqual(orderOfNewPods(await trail.stop()), ["halt-2", "halt-0"]);
    });
  },
};
