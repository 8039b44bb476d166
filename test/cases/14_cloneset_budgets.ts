import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { cloneSet, imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { conditionOf, extremesOf, isPresent } from "./trail.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "14",
  title: "CloneSet: how many at once",
  needs: [],
  async run(world) {
    const minReadySeconds = world.seconds(5);
    await world.step("1 one by one", () => oneByOne(world, minReadySeconds));
    await world.step("2 never below eight", () => neverBelowEight(world, minReadySeconds));
    await world.step("3 surge of one", () => surge(world));
    await world.step("4 both limits zero are refused", async () => {
      const manifest = cloneSet(world.version, {
        name: "no-budget",
        replicas: 3,
        strategy: { policy: "ReCreate", maxUnavailable: 0, maxSurge: 0 },
      });
      const message = await world.refused(() => world.apply(manifest), 422);
      assert.ok(message.includes("maxUnavailable and maxSurge should not both be less than 1"), message);
    });
  },
};

async function oneByOne(world: World, minReadySeconds: number): Promise<void> {
  const trail = await world.trail("pods", "case=budget");
  await world.apply(
    cloneSet(world.version, {
      name: "budget",
      replicas: 10,
      scaleStrategy: { maxUnavailable: 1 },
      more: { minReadySeconds },
    }),
  );
  const pods = await world.untilAll("budget", 10, { timeoutMs: 180_000 });
  await trail.stop();
  const inOrder = [...pods].sort((a, b) => created(a) - created(b));
  for (const [index, pod] of inOrder.entries()) {
    const previous = inOrder[index - 1];
    if (previous === undefined) continue;
    const ready = Date.parse(conditionOf(previous, "Ready")?.lastTransitionTime ?? "");
    const gap = (created(pod) - ready) / 1000;
    assert.ok(
      gap >= minReadySeconds,
      `${pod.metadata.name} was created ${gap} s after its forerunner was Ready`,
    );
  }
  await world.until("the limit was reported", async () => {
    const [limited] = await world.events("CloneSet", "budget", "ScaleUpLimited");
    assert.equal(limited?.type, "Warning");
    const text = /^scaleUp is limited because of scaleStrategy.maxUnavailable, limit: [01]$/;
    assert.match(limited?.message ?? "", text);
  });
}

function created(pod: Item): number {
  return Date.parse(pod.metadata.creationTimestamp);
}

async function neverBelowEight(world: World, minReadySeconds: number): Promise<void> {
  const before = await world.livePodsOf("budget");
  const trail = await world.trail("pods", "case=budget");
  await world.patch("budget", "json", imagePatch("nginx:1.21"));
  await world.until(
    "all replaced",
    async () => {
      assert.equal(await world.row("budget"), "budget 10 10 10 10 10 10");
      const pods = await world.podsOf("budget");
      assert.ok(pods.every((pod) => !before.some((old) => old.metadata.uid === pod.metadata.uid)));
    },
    { timeoutMs: 240_000 },
  );
  const moments = await trail.stop();
  const { leastAvailable, worst } = extremesOf(moments, { minReadySeconds });
  assert.ok(leastAvailable >= 8, `available fell to ${leastAvailable}: ${worst}`);
  const pending = new Set<string>();
  for (const { type, object } of moments) {
    const uid = object.metadata.uid;
    const young = isPresent(object) && conditionOf(object, "Ready")?.status !== "True";
    if (type !== "DELETED" && young && !before.some((old) => old.metadata.uid === uid)) pending.add(uid);
    else pending.delete(uid);
    assert.ok(pending.size <= 1, `${pending.size} new pods were not ready at once`);
  }
}

async function surge(world: World): Promise<void> {
  await world.apply(
    cloneSet(world.version, {
      name: "surge",
      replicas: 5,
      strategy: { policy: "ReCreate", maxUnavailable: 0, maxSurge: 1 },
    }),
  );
  const before = await world.untilAll("surge", 5);
  const trail = await world.trail("pods", "case=surge");
  await world.patch("surge", "json", imagePatch("nginx:1.21"));
  await world.until("all replaced", async () => {
    assert.equal(await world.row("surge"), "surge 5 5 5 5 5 5");
    const pods = await world.podsOf("surge");
    assert.equal(pods.length, 5);
    assert.ok(pods.every((pod) => !before.some((old) => old.metadata.uid === pod.metadata.uid)));
  });
  const { leastReady, mostPresent, worst } = extremesOf(await trail.stop());
  assert.equal(mostPresent, 6);
  assert.ok(leastReady >= 5, `ready fell to ${leastReady}: ${worst}`);
}
