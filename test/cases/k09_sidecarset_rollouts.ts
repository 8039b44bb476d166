import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { conditionOf, statusOf } from "./items.ts";
import { podOf, sleeper } from "./manifests.ts";
import { badImage, containerOf, Sidecars } from "./sidecar_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const labels = { case: "release" };

/** Scenarios of the reference, by their numbers there. */
export const suite: Suite = {
  number: "k09",
  title: "SidecarSet: releases that fail, portions, two sets at once, bad hot upgrades",
  needs: [],
  async run(world) {
    const set = new Sidecars(world, "release");
    const spec = {
      selector: { matchLabels: labels },
      updateStrategy: { maxUnavailable: "50%" },
      initContainers: [{ name: "prepare", image: "busybox:1.32", command: ["true"] }],
      containers: [sleeper("side", "busybox:1.32")],
    };
    await set.during(spec, async () => {
      await badRelease(world, set);
      await portions(world, set);
      await initImage(world, set);
      await twoSets(world, set);
    });
    await badHotUpgrade(world);
  },
};

/** Scenarios 7 and 8. */
async function badRelease(world: World, set: Sidecars): Promise<void> {
  await world.step("7, 8 a bad image stops within the budget, a good one goes on", async () => {
    for (const name of ["a", "b", "c", "d"]) await world.apply(podOf(name, { labels }));
    await set.untilRow("4 4 4");
    await set.toImage(badImage);
    await set.untilRow("4 2 2");
    assert.equal((await set.get()).status?.["updatedReadyPods"] ?? 0, 0);
    await set.toImage("busybox:1.33");
    await set.untilRow("4 4 4");
    assert.equal((await set.get()).status?.["updatedReadyPods"], 4);
  });
}

/** Scenario 11. */
async function portions(world: World, set: Sidecars): Promise<void> {
  await world.step("11 a percentage keeps at most all but one, and rounds up", async () => {
    await world.apply(podOf("e", { labels }));
    await set.untilRow("5 5 5");
    await set.strategy({ partition: "99%", maxUnavailable: 5 });
    await set.toImage("busybox:1.34");
    await set.untilRow("5 1 5");
    await set.strategy({ partition: "1%" });
    await set.untilRow("5 4 5");
    await set.strategy({ partition: null });
    await set.untilRow("5 5 5");
  });
}

/** Scenario 13. */
async function initImage(world: World, set: Sidecars): Promise<void> {
  await world.step("13 the image of an init container is no other version", async () => {
    const hash = ({ metadata }: Item) => metadata.annotations?.["kruise.io/sidecarset-hash"];
    const before = await set.get();
    const after = await set.patch("json", [
      { op: "replace", path: "/spec/initContainers/0/image", value: "busybox:1.33" },
    ]);
    assert.ok(after.metadata.generation > before.metadata.generation);
    assert.equal(hash(after), hash(before));
    await set.untilRow("5 5 5");
  });
}

/** Scenario 10. */
async function twoSets(world: World, first: Sidecars): Promise<void> {
  const second = new Sidecars(world, "second");
  const spec = {
    selector: { matchLabels: { both: "true" } },
    containers: [sleeper("other", "busybox:1.32")],
  };
  const condition = async () => upgradable(await world.pod("both"));
  await second.during(spec, async () => {
    await world.step("10 the condition is False until every set can go on", async () => {
      await world.apply(podOf("both", { labels: { ...labels, both: "true" } }));
      await second.untilRow("1 1 1");
      await first.untilRow("6 6 6");
      const env = [{ name: "A", value: "1" }];
      await first.patch("json", [{ op: "add", path: "/spec/containers/0/env", value: env }]);
      await first.untilRow("6 0 6");
      await second.toImage("busybox:1.33");
      await second.untilRow("1 1 1");
      await world.until("the condition names both", async () => {
        assert.deepEqual(await condition(), ["False", { [first.name]: false, [second.name]: true }]);
      });
      await first.patch("json", [{ op: "remove", path: "/spec/containers/0/env" }]);
      await first.untilRow("6 6 6");
      await world.until("all go on", async () => {
        assert.deepEqual(await condition(), ["True", { [first.name]: true, [second.name]: true }]);
      });
    });
  });
}

function upgradable(pod: Item): unknown {
  const condition = conditionOf(pod, "SidecarSetUpgradable");
  return [condition?.status, JSON.parse(condition?.message || "{}")];
}

/** Scenario 18. */
async function badHotUpgrade(world: World): Promise<void> {
  const set = new Sidecars(world, "hot");
  const hot = { case: "hot" };
  const upgradeStrategy = { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: "busybox:1.35" };
  const images = (pod: Item) => ["mesh-1", "mesh-2"].map((name) => containerOf(pod, name).image);
  const get = () => world.pod("hot");
  const spec = {
    selector: { matchLabels: hot },
    containers: [sleeper("mesh", "busybox:1.32", { upgradeStrategy })],
  };
  await set.during(spec, async () => {
    await world.step("18 a bad image leaves the old container at work, a good one replaces it", async () => {
      await world.apply(podOf("hot", { labels: hot }));
      await set.untilRow("1 1 1");
      await set.toImage(badImage);
      await set.untilRow("1 1 0");
      const bad = await get();
      assert.deepEqual(images(bad), ["busybox:1.32", badImage]);
      const serving = statusOf(bad, "mesh-1");
      assert.deepEqual([serving?.ready, serving?.restartCount], [true, 0]);
      const trail = await world.trail("pods", "case=hot");
      await set.toImage("busybox:1.33");
      await set.untilRow("1 1 1");
      const after = await get();
      assert.deepEqual(images(after), ["busybox:1.35", "busybox:1.33"]);
      assert.equal(after.metadata.uid, bad.metadata.uid);
      const states = (await trail.stop()).map(({ object }) => images(object).join(" "));
      assert.ok(states.includes("busybox:1.32 busybox:1.33"), "the old one worked on meanwhile");
    });
  });
}
