import assert from "node:assert/strict";
import { cloneSet, imagePatch, strategyPatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { conditionOf } from "./trail.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "c13",
  title: "CloneSet: the Progressing condition",
  needs: [],
  async run(world) {
    await world.step("absent without a deadline, and with the largest one", async () => {
      await create(world, "untracked", {});
      await create(world, "endless", { progressDeadlineSeconds: 2_147_483_647 });
      for (const name of ["untracked", "endless"]) {
        const conditions = (await world.get(name)).status?.conditions ?? [];
        assert.deepEqual(
          conditions.map(({ type }) => type),
          [],
          name,
        );
      }
    });
    await world.step("done under a partition", async () => {
      await create(world, "tracked", { progressDeadlineSeconds: 600 });
      assert.equal(await reason(world, "tracked"), "CloneSetAvailable");
      await world.patch("tracked", "merge", strategyPatch(world.version, { partition: 2 }));
      await world.patch("tracked", "json", imagePatch("nginx:1.21"));
      await world.until("one updated", async () => {
        assert.equal(await world.row("tracked"), "tracked 3 1 1 1 3 3");
        const condition = conditionOf(await world.get("tracked"), "Progressing");
        assert.deepEqual(
          [condition?.status, condition?.reason, condition?.message],
          ["True", "ProgressPartitionAvailable", "CloneSet has been paused due to partition ready"],
        );
      });
    });
    await world.step("done without one", async () => {
      await world.patch("tracked", "merge", strategyPatch(world.version, { partition: 0 }));
      await world.until("all updated", async () => {
        assert.equal(await world.row("tracked"), "tracked 3 3 3 3 3 3");
        assert.equal(await reason(world, "tracked"), "CloneSetAvailable");
      });
    });
    await world.step("once exceeded, a step ahead does not take it back, a resume does", () => late(world));
  },
};

/** A hook holds the rollout for longer than its deadline, then one pod goes on. */
async function late(world: World): Promise<void> {
  const hook = "case.example/hook";
  await world.apply(
    cloneSet(world.version, {
      name: "late",
      replicas: 2,
      templateMetadata: { labels: { [hook]: "true" } },
      strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1 },
      more: {
        progressDeadlineSeconds: world.seconds(8, 2),
        lifecycle: { inPlaceUpdate: { labelsHandler: { [hook]: "true" } } },
      },
    }),
  );
  await world.untilAll("late", 2);
  await world.patch("late", "json", imagePatch("nginx:1.21"));
  await world.until("exceeded", async () =>
    assert.equal(await reason(world, "late"), "ProgressDeadlineExceeded"),
  );
  const held = (await world.livePodsOf("late")).find(
    ({ metadata }) => metadata.labels?.["lifecycle.apps.kruise.io/state"] === "PreparingUpdate",
  );
  await world.patch(held?.metadata.name ?? "", "merge", { metadata: { labels: { [hook]: null } } }, "pods");
  await world.until("one updated, still exceeded", async () => {
    assert.equal((await world.get("late")).status?.["updatedReadyReplicas"], 1);
    assert.equal(await reason(world, "late"), "ProgressDeadlineExceeded");
  });
  await world.patch("late", "merge", strategyPatch(world.version, { paused: true }));
  await world.until("paused", async () => assert.equal(await reason(world, "late"), "CloneSetPaused"));
  // Soon the deadline is over once more: what was there in between is seen by a watch.
  const trail = await world.trail(world.cloneSets);
  await world.patch("late", "merge", strategyPatch(world.version, { paused: false }));
  const reasons = () => trail.moments.map(({ object }) => conditionOf(object, "Progressing")?.reason);
  await world.until(
    "resumed",
    async () => assert.ok(reasons().includes("CloneSetUpdated"), reasons().join()),
    {
      stableMs: 0,
    },
  );
}

async function create(world: World, name: string, more: object): Promise<void> {
  const strategy = { policy: "InPlaceIfPossible", maxUnavailable: 1 } as const;
  await world.apply(cloneSet(world.version, { name, replicas: 3, strategy, more }));
  await world.untilAll(name, 3);
}

async function reason(world: World, name: string): Promise<string | undefined> {
  return conditionOf(await world.get(name), "Progressing")?.reason;
}
