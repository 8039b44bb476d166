import assert from "node:assert/strict";
import type { Suite } from "./suite.ts";
import { United } from "./united_deployments.ts";

export const suite: Suite = {
  number: "44",
  title: "UnitedDeployment: portions of each subset",
  needs: [],
  async run(world) {
    const united = new United(world, "waves");
    const partitions = { "subset-a": 0, "subset-b": 2, "subset-c": 1 };
    const condition = () => united.condition("UnitedDeploymentUpdated");
    let first = "";
    await world.step("1 before the update", async () => {
      const subsets = [
        { name: "subset-a", replicas: 1 },
        { name: "subset-b", replicas: 3 },
        { name: "subset-c", replicas: 2 },
      ];
      await united.create({ replicas: 6, subsets, partitions });
      await united.untilRow("6 6 6 6");
      first = (await united.get()).status?.currentRevision ?? "";
      assert.equal((await condition())?.status, "True");
    });
    await world.step("2 partitions keep pods at the old revision", async () => {
      const before = await united.uids();
      await united.toImage("nginx:1.21");
      await united.untilRow("6 6 3 6");
      const children = await united.children();
      const kept = (name: string) =>
        Object(children[name]?.spec?.updateStrategy?.["rollingUpdate"]).partition;
      assert.deepEqual(["subset-a", "subset-b", "subset-c"].map(kept), [0, 2, 1]);
      const nameOf = (subset: string, ordinal: number) => `${children[subset]?.metadata.name}-${ordinal}`;
      const updated = [nameOf("subset-a", 0), nameOf("subset-b", 2), nameOf("subset-c", 1)];
      const after = await united.uids();
      for (const [name, tag] of Object.entries(await united.tags())) {
        assert.equal(tag, updated.includes(name) ? "1.21" : "1.20", name);
        assert.equal(after.get(name) === before.get(name), !updated.includes(name), name);
      }
      assert.equal((await condition())?.status, "False");
      assert.equal((await condition())?.reason, "UnitedDeploymentRevisionUpdating");
      assert.equal((await united.get()).status?.currentRevision, first);
      const { updateStatus } = Object((await united.get("v1alpha1")).status);
      assert.deepEqual(updateStatus.currentPartitions, partitions);
    });
    await world.step("3 the rest follows", async () => {
      const rest = { "subset-b": 0, "subset-c": 0 };
      await united.mergeSpec({ updateStrategy: { manualUpdate: { partitions: rest } } });
      await united.untilRow("6 6 6 6");
      assert.deepEqual(new Set(Object.values(await united.tags())), new Set(["1.21"]));
      const { status } = await united.get("v1beta1");
      assert.equal(status?.currentRevision, status?.["updatedRevision"]);
      assert.equal((await condition())?.status, "True");
    });
    await world.step("4 back to a revision that is there still", async () => {
      await united.toImage("nginx:1.20");
      await world.until("the first image again", async () =>
        assert.deepEqual(new Set(Object.values(await united.tags())), new Set(["1.20"])),
      );
      await united.untilRow("6 6 6 6");
      const revisions = await united.revisions();
      assert.equal(revisions.length, 2);
      assert.equal(revisions[1]?.metadata.name, first);
      assert.equal(revisions[1]?.revision, 3);
    });
    await world.step("5 a partition of no subset", async () => {
      const patch = { spec: { updateStrategy: { manualUpdate: { partitions: { "subset-x": 1 } } } } };
      await world.refuses(422, () => united.patch("merge", patch), /subset subset-x does not exist/);
    });
  },
};
