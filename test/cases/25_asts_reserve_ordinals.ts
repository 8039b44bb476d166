import assert from "node:assert/strict";
import { Sets, statefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

const podSpec = { terminationGracePeriodSeconds: 2 };

export const suite: Suite = {
  number: "25",
  title: "Advanced StatefulSet: reserved ordinals",
  needs: [],
  versions: ["v1beta1"],
  async run(world) {
    const sets = new Sets(world);
    const reserve = (reserveOrdinals: (number | string)[], more: object = {}) =>
      sets.patch("seat", "merge", { spec: { reserveOrdinals, ...more } });
    await world.step("1 a reserved ordinal is never created", async () => {
      const more = { reserveOrdinals: [1] };
      await world.apply(statefulSet(world.version, { name: "seat", replicas: 4, podSpec, more }));
      await sets.untilRow("seat 4 4 4 4");
      assert.deepEqual(await sets.ordinals("seat"), [0, 2, 3, 4]);
      await world.until(
        "events of each pod",
        async () => {
          const created = await sets.events("seat", "SuccessfulCreate");
          assert.equal(created.length, 4);
          assert.ok(!created.some(({ message }) => message.includes("seat-1 ")));
        },
        { stableMs: 0 },
      );
    });
    await world.step("2 a pod is moved", async () => {
      const before = await sets.uids("seat");
      await reserve([1, 3]);
      await sets.untilOrdinals("seat", [0, 2, 4, 5]);
      const after = await sets.uids("seat");
      for (const name of ["seat-0", "seat-2", "seat-4"]) assert.equal(after.get(name), before.get(name));
      await sets.untilRow("seat 4 4 4 4");
    });
    await world.step("3 and back", async () => {
      await reserve([1]);
      await sets.untilOrdinals("seat", [0, 2, 3, 4]);
    });
    await world.step("4 reserved and scaled in at once", async () => {
      const before = await sets.uids("seat");
      await reserve([1, 3], { replicas: 3 });
      await sets.untilOrdinals("seat", [0, 2, 4]);
      const after = await sets.uids("seat");
      for (const [name, uid] of after) assert.equal(before.get(name), uid, name);
      await sets.untilRow("seat 3 3 3 3");
    });
    await world.step("5 none reserved, then the first", async () => {
      await reserve([]);
      await sets.untilOrdinals("seat", [0, 1, 2]);
      await reserve([0]);
      await sets.untilOrdinals("seat", [1, 2, 3]);
    });
    await world.step("6 ranges", async () => {
      const more = { reserveOrdinals: [0, "2-5"] };
      await world.apply(statefulSet(world.version, { name: "gap", replicas: 3, podSpec, more }));
      await sets.untilOrdinals("gap", [1, 6, 7]);
      await sets.scale("gap", 1);
      await sets.untilOrdinals("gap", [1]);
    });
    await world.step("7 what is refused", async () => {
      const range = await sets.refused(
        statefulSet(world.version, { name: "bad-range", replicas: 1, more: { reserveOrdinals: ["5-2"] } }),
      );
      assert.ok(range.includes("0 th reserve ordinal is invalid: 5-2, err = invalid range 5-2"), range);
      for (const text of ["a-b", "3"]) {
        const message = await sets.refusedPatch("seat", { spec: { reserveOrdinals: [text] } });
        assert.ok(message.includes(`0 th reserve ordinal is not a valid range: ${text}`), message);
        assert.ok(message.includes(`0 th reserve ordinal is invalid: ${text}, err = `), message);
      }
      const negative = await sets.refusedPatch("seat", { spec: { reserveOrdinals: [-1] } });
      assert.ok(negative.includes("0 th reserve ordinal is negative: -1"), negative);
    });
  },
};
