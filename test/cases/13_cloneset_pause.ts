import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { imageOf, nameOf, restartsOf, uidOf } from "./items.ts";
import type { Suite } from "./suite.ts";

const available = "True CloneSetAvailable CloneSet is available";

export const suite: Suite = {
  number: "13",
  title: "CloneSet: pause",
  needs: [],
  async run(world) {
    const hold = new CloneSet(world, "hold");
    await world.step("1 pods are created", async () => {
      await hold.start({
        replicas: 3,
        strategy: { policy: "InPlaceIfPossible", paused: true, maxUnavailable: 1 },
        more: { progressDeadlineSeconds: 600 },
      });
    });
    const first = await hold.livePods();
    await world.step("2 nothing is updated", () => heldBack(hold, first));
    await world.step("3 scaling goes on with the new revision", async () => {
      await hold.scale(4);
      await hold.untilRow("4 1 1 1 4 4");
    });
    await world.step("4 repair too", async () => {
      await world.remove("pods", first.map(nameOf)[0] ?? "");
      await hold.untilRow("4 2 2 2 4 4");
    });
    await world.step("5 resume", () => resume(hold, first.slice(1)));
    await world.step("6 pause with nothing to hold back", async () => {
      const { generation } = (await hold.strategy({ paused: true }, "v1alpha1")).metadata;
      await world.until("observed", async () => {
        assert.ok(((await hold.status()).observedGeneration ?? 0) >= generation);
        assert.equal(await progressing(hold), available);
        await hold.assertAll(4);
      });
      assert.match(await world.refitError("rollout", "pause", "clone/hold"), /is already paused$/);
    });
  },
};

async function progressing(hold: CloneSet): Promise<string> {
  const condition = await hold.condition("Progressing");
  return `${condition?.status} ${condition?.reason} ${condition?.message}`;
}

async function heldBack(hold: CloneSet, pods: readonly Item[]): Promise<void> {
  await hold.toImage("nginx:1.21");
  await hold.world.until("the change is seen and held", async () => {
    assert.match(await hold.row(), /^3 (0 )*3 3$/);
    assert.equal(await progressing(hold), "True CloneSetPaused CloneSet is paused");
  });
  await hold.world.stays(async () => {
    const now = await hold.pods();
    assert.deepEqual(now.map(uidOf), pods.map(uidOf));
    assert.deepEqual(now.map(imageOf), Array(3).fill("nginx:1.20"));
    assert.deepEqual(now.map(restartsOf), [0, 0, 0]);
  });
}

async function resume(hold: CloneSet, old: readonly Item[]): Promise<void> {
  const trail = await hold.trail();
  await hold.strategy({ paused: false }, "v1alpha1");
  await hold.world.until("all updated", async () => {
    await hold.assertAll(4);
    assert.equal(await progressing(hold), available);
  });
  const pods = new Map((await hold.pods()).map((pod) => [uidOf(pod), pod]));
  for (const pod of old.map((before) => pods.get(uidOf(before)))) {
    assert.equal(imageOf(pod), "nginx:1.21");
    assert.equal(restartsOf(pod), 1);
  }
  await trail.neverBelow(3);
}
