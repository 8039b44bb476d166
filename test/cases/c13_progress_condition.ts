import assert from "node:assert/strict";
import { CloneSet } from "./clone_sets.ts";
import { conditionOf, nameOf } from "./items.ts";
import type { Suite } from "./suite.ts";

const strategy = { policy: "InPlaceIfPossible", maxUnavailable: 1 } as const;

export const suite: Suite = {
  number: "c13",
  title: "CloneSet: the Progressing condition",
  needs: [],
  async run(world) {
    const tracked = new CloneSet(world, "tracked");
    await world.step("absent without a deadline, and with the largest one", async () => {
      for (const [name, more] of [
        ["untracked", {}],
        ["endless", { progressDeadlineSeconds: 2_147_483_647 }],
      ] as const) {
        const clone = new CloneSet(world, name);
        await clone.start({ replicas: 3, strategy, more });
        assert.deepEqual((await clone.status()).conditions ?? [], [], name);
      }
    });
    await world.step("done under a partition", async () => {
      await tracked.start({ replicas: 3, strategy, more: { progressDeadlineSeconds: 600 } });
      assert.equal(await reasonOf(tracked), "CloneSetAvailable");
      await tracked.strategy({ partition: 2 });
      await tracked.toImage("nginx:1.21");
      await world.until("one updated", async () => {
        assert.equal(await tracked.row(), "3 1 1 1 3 3");
        const condition = await tracked.condition("Progressing");
        assert.deepEqual(
          [condition?.status, condition?.reason, condition?.message],
          ["True", "ProgressPartitionAvailable", "CloneSet has been paused due to partition ready"],
        );
      });
    });
    await world.step("done without one", async () => {
      await tracked.strategy({ partition: 0 });
      await world.until("all updated", async () => {
        await tracked.assertAll(3);
        assert.equal(await reasonOf(tracked), "CloneSetAvailable");
      });
    });
    await world.step("once exceeded, a step ahead does not take it back, a resume does", () =>
      exceed(new CloneSet(world, "late")),
    );
  },
};

/** A hook holds the rollout for longer than its deadline, then one pod goes on. */
async function exceed(late: CloneSet): Promise<void> {
  const { world } = late;
  const hook = "case.example/hook";
  const untilReason = (reason: string) =>
    world.until(reason, async () => assert.equal(await reasonOf(late), reason));
  await late.start({
    replicas: 2,
    templateMetadata: { labels: { [hook]: "true" } },
    strategy,
    more: {
      progressDeadlineSeconds: world.seconds(8, 2),
      lifecycle: { inPlaceUpdate: { labelsHandler: { [hook]: "true" } } },
    },
  });
  await late.toImage("nginx:1.21");
  await untilReason("ProgressDeadlineExceeded");
  const held = (await late.livePods()).find(
    ({ metadata }) => metadata.labels?.["lifecycle.apps.kruise.io/state"] === "PreparingUpdate",
  );
  await world.label(held === undefined ? "" : nameOf(held), { [hook]: null });
  await world.until("one updated, still exceeded", async () => {
    assert.equal((await late.status()).updatedReadyReplicas, 1);
    assert.equal(await reasonOf(late), "ProgressDeadlineExceeded");
  });
  await late.strategy({ paused: true });
  await untilReason("CloneSetPaused");
  // Soon the deadline is over once more: what was there in between is seen by a watch.
  const trail = await world.trail(late.resource);
  await late.strategy({ paused: false });
  await world.once("resumed", async () => {
    const reasons = trail.moments.map(({ object }) => conditionOf(object, "Progressing")?.reason);
    assert.ok(reasons.includes("CloneSetUpdated"), reasons.join());
  });
}

async function reasonOf(clone: CloneSet): Promise<string | undefined> {
  return (await clone.condition("Progressing"))?.reason;
}
