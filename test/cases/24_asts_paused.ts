import assert from "node:assert/strict";
import { orderOfNewPods, Sets, statefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "24",
  title: "Advanced StatefulSet: paused",
  needs: [],
  versions: ["v1alpha1", "v1beta1"],
  async run(world) {
    const sets = new Sets(world);
    await world.step("1 create", async () => {
      const podSpec = { terminationGracePeriodSeconds: 2 };
      const shape = { name: "halt", replicas: 3, rollingUpdate: { paused: true }, podSpec };
      await world.apply(statefulSet(world.version, shape));
      await sets.untilRow("halt 3 3 3 3");
    });
    const before = await sets.uids("halt");
    await world.step("2 no pod changes", async () => {
      await sets.toImage("halt", "nginx:1.21");
      await sets.untilRow("halt 3 3 0 3");
      await world.stays(async () => assert.deepEqual(await sets.uids("halt"), before));
      const { status } = await sets.get("halt");
      assert.notEqual(status?.updateRevision, status?.currentRevision);
    });
    await world.step("3 new pods are new", async () => {
      await sets.scale("halt", 5);
      await sets.untilRow("halt 5 5 2 5");
      const images = await sets.images("halt");
      assert.deepEqual(Object.values(images), ["1.20", "1.20", "1.20", "1.21", "1.21"]);
      const after = await sets.uids("halt");
      for (const [name, uid] of before) assert.equal(after.get(name), uid);
    });
    await world.step("4 so are pods that are replaced", async () => {
      await world.remove("pods", "halt-1");
      await sets.untilRow("halt 5 5 3 5");
      assert.equal((await sets.images("halt"))["halt-1"], "1.21");
      assert.notEqual((await sets.uids("halt")).get("halt-1"), before.get("halt-1"));
    });
    await world.step("5 scaling in goes on", async () => {
      await sets.scale("halt", 4);
      await sets.untilRow("halt 4 4 2 4");
      assert.deepEqual(await sets.ordinals("halt"), [0, 1, 2, 3]);
    });
    await world.step("6 resumed", async () => {
      const trail = await world.trail("pods", "case=halt");
      await sets.roll("halt", { paused: false });
      await sets.untilRow("halt 4 4 4 4");
      const { status } = await sets.get("halt");
      assert.equal(status?.updateRevision, status?.currentRevision);
      assert.deepEqual(orderOfNewPods(await trail.stop()), ["halt-2", "halt-0"]);
    });
  },
};
