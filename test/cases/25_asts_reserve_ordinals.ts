import assert from "node:assert/strict";
import { StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

const podSpec = { terminationGracePeriodSeconds: 2 };

export const suite: Suite = {
  number: "25",
  title: "Advanced StatefulSet: reserved ordinals",
  needs: [],
  versions: ["v1beta1"],
  async run(world) {
    const seat = new StatefulSet(world, "seat");
    const reserve = (reserveOrdinals: (number | string)[], more: object = {}) =>
      seat.mergeSpec({ reserveOrdinals, ...more });
    await world.step("1 a reserved ordinal is never created", async () => {
      await seat.start({ replicas: 4, podSpec, more: { reserveOrdinals: [1] } });
      assert.deepEqual(await seat.ordinals(), [0, 2, 3, 4]);
      await world.once("events of each pod", async () => {
        const created = await seat.events("SuccessfulCreate");
        assert.equal(created.length, 4);
        assert.ok(!created.some(({ message }) => message.includes("seat-1 ")));
      });
    });
    await world.step("2 a pod is moved", async () => {
      const before = await seat.uids();
      await reserve([1, 3]);
      await seat.untilOrdinals(0, 2, 4, 5);
      const after = await seat.uids();
      for (const name of ["seat-0", "seat-2", "seat-4"]) assert.equal(after.get(name), before.get(name));
      await seat.untilAll(4);
    });
    await world.step("3 and back", async () => {
      await reserve([1]);
      await seat.untilOrdinals(0, 2, 3, 4);
    });
    await world.step("4 reserved and scaled in at once", async () => {
      const before = await seat.uids();
      await reserve([1, 3], { replicas: 3 });
      await seat.untilOrdinals(0, 2, 4);
      for (const [name, uid] of await seat.uids()) assert.equal(before.get(name), uid, name);
      await seat.untilAll(3);
    });
    await world.step("5 none reserved, then the first", async () => {
      await reserve([]);
      await seat.untilOrdinals(0, 1, 2);
      await reserve([0]);
      await seat.untilOrdinals(1, 2, 3);
    });
    await world.step("6 ranges", async () => {
      const gap = new StatefulSet(world, "gap");
      await gap.create({ replicas: 3, podSpec, more: { reserveOrdinals: [0, "2-5"] } });
      await gap.untilOrdinals(1, 6, 7);
      await gap.scale(1);
      await gap.untilOrdinals(1);
    });
    await world.step("7 what is refused", async () => {
      await new StatefulSet(world, "bad-range").refusesShape(
        { replicas: 1, more: { reserveOrdinals: ["5-2"] } },
        "0 th reserve ordinal is invalid: 5-2, err = invalid range 5-2",
      );
      for (const text of ["a-b", "3"]) {
        await seat.refusesSpec(
          { reserveOrdinals: [text] },
          `0 th reserve ordinal is not a valid range: ${text}`,
          `0 th reserve ordinal is invalid: ${text}, err = `,
        );
      }
      await seat.refusesSpec({ reserveOrdinals: [-1] }, "0 th reserve ordinal is negative: -1");
    });
  },
};
