import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { conditionOf, nameOf, uidOf } from "./items.ts";
import type { Suite } from "./suite.ts";
import { extremesOf, isPresent, presences } from "./trail.ts";

export const suite: Suite = {
  number: "14",
  title: "CloneSet: how many at once",
  needs: [],
  async run(world) {
    const minReadySeconds = world.seconds(5);
    const budget = new CloneSet(world, "budget");
    await world.step("1 one by one", () => oneByOne(budget, minReadySeconds));
    await world.step("2 never below eight", () => neverBelowEight(budget, minReadySeconds));
    await world.step("3 surge of one", () => surgeOfOne(new CloneSet(world, "surge")));
    await world.step("4 both limits zero are refused", async () => {
      const strategy = { policy: "ReCreate", maxUnavailable: 0, maxSurge: 0 } as const;
      const send = () => new CloneSet(world, "no-budget").create({ replicas: 3, strategy });
      await world.refuses(422, send, "maxUnavailable and maxSurge should not both be less than 1");
    });
  },
};

async function oneByOne(budget: CloneSet, minReadySeconds: number): Promise<void> {
  const trail = await budget.trail();
  const shape = { replicas: 10, scaleStrategy: { maxUnavailable: 1 }, more: { minReadySeconds } };
  const pods = await budget.start(shape, { timeoutMs: 180_000 });
  await trail.stop();
  const inOrder = [...pods].sort((a, b) => created(a) - created(b));
  for (const [index, pod] of inOrder.entries()) {
    const previous = inOrder[index - 1];
    if (previous === undefined) continue;
    const ready = Date.parse(conditionOf(previous, "Ready")?.lastTransitionTime ?? "");
    const gap = (created(pod) - ready) / 1000;
    assert.ok(gap >= minReadySeconds, `${nameOf(pod)} was created ${gap} s after its forerunner was Ready`);
  }
  await budget.world.until("the limit was reported", async () => {
    const [limited] = await budget.events("ScaleUpLimited");
    assert.equal(limited?.type, "Warning");
    const text = /^scaleUp is limited because of scaleStrategy.maxUnavailable, limit: [01]$/;
    assert.match(limited?.message ?? "", text);
  });
}

function created(pod: Item): number {
  return Date.parse(pod.metadata.creationTimestamp);
}

async function neverBelowEight(budget: CloneSet, minReadySeconds: number): Promise<void> {
  const before = await budget.livePods();
  const trail = await budget.trail();
  await budget.toImage("nginx:1.21");
  await budget.untilReplaced(before, { timeoutMs: 240_000 });
  const moments = await trail.neverBelow(8, { minReadySeconds });
  for (const { pods } of presences(moments)) {
    const young = pods.filter(
      (pod) =>
        isPresent(pod) &&
        conditionOf(pod, "Ready")?.status !== "True" &&
        !before.some((old) => uidOf(old) === uidOf(pod)),
    );
    assert.ok(young.length <= 1, `${young.length} new pods were not ready at once`);
  }
}

async function surgeOfOne(surge: CloneSet): Promise<void> {
  const strategy = { policy: "ReCreate", maxUnavailable: 0, maxSurge: 1 } as const;
  const before = await surge.start({ replicas: 5, strategy });
  const trail = await surge.trail();
  await surge.toImage("nginx:1.21");
  await surge.untilReplaced(before);
  const { leastReady, mostPresent, worst } = extremesOf(await trail.stop());
  assert.equal(mostPresent, 6);
  assert.ok(leastReady >= 5, `ready fell to ${leastReady}: ${worst}`);
}
