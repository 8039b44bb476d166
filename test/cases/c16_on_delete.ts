import assert from "node:assert/strict";
import { CloneSet } from "./clone_sets.ts";
import { imageOf, nameOf } from "./items.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "c16",
  title: "CloneSet: OnDelete",
  needs: [],
  versions: ["v1beta1"],
  async run(world) {
    const clone = new CloneSet(world, "by-hand");
    const old = async () => (await clone.livePods()).filter((pod) => imageOf(pod) === "nginx:1.20");
    const deleteOld = async (count: number) => {
      for (const pod of (await old()).slice(0, count)) await world.remove("pods", nameOf(pod));
    };
    await world.step("a new template changes no pod", async () => {
      const more = { progressDeadlineSeconds: 600, updateStrategy: { type: "OnDelete" } };
      await clone.start({ replicas: 5, more });
      await clone.toImage("nginx:1.21");
      await world.until("the revision is new", async () => {
        const { updateRevision, currentRevision, updatedReplicas } = await clone.status();
        assert.notEqual(updateRevision, currentRevision);
        assert.equal(updatedReplicas, 0);
      });
      await world.stays(async () => assert.equal((await old()).length, 5));
    });
    await world.step("deleted pods come back updated", async () => {
      await deleteOld(2);
      await clone.untilRow("5 2 2 2 5 5");
    });
    await world.step("scale-in takes old ones, scale-out adds new ones", async () => {
      await clone.scale(3);
      await clone.untilRow("3 2 2 2 3 3");
      await clone.scale(5);
      await clone.untilRow("5 4 4 4 5 5");
    });
    await world.step("the last old pod ends the rollout", async () => {
      await deleteOld(1);
      await clone.untilAll(5);
      assert.equal((await clone.condition("Progressing"))?.reason, "CloneSetAvailable");
    });
  },
};
