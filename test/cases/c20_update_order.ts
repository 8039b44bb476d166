import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { imageOf, nameOf, uidOf } from "./items.ts";
import type { Strategy } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "c20",
  title: "CloneSet: scatter and priority decide the order",
  needs: [],
  async run(world) {
    await world.step("scatter: three of ten are the 1st, 6th and 10th", async () => {
      for (const [updated, matching] of [
        [1, 1],
        [5, 1],
        [6, 2],
        [9, 2],
      ] as const) {
        assert.equal(await matchingAmong(world, updated), matching, `among the first ${updated}`);
      }
    });
    await world.step("order priority: larger numbers first, pods without the key before them", async () => {
      const priorityStrategy = { orderPriority: [{ orderedKey: "rank" }] };
      const ordered = new CloneSet(world, "ordered");
      const order = await orderOf(ordered, { priorityStrategy }, "rank", ["o-10", "o-5", undefined, "o-20"]);
      assert.deepEqual(order, [undefined, "o-20", "o-10", "o-5"]);
    });
    await world.step("weight priority: heavier first", async () => {
      const weight = (weight: number, grade: string) => ({
        weight,
        matchSelector: { matchLabels: { grade } },
      });
      const priorityStrategy = { weightPriority: [weight(20, "light"), weight(80, "heavy")] };
      const weighed = new CloneSet(world, "weighed");
      const order = await orderOf(weighed, { priorityStrategy }, "grade", ["light", "heavy", "none"]);
      assert.deepEqual(order, ["heavy", "light", "none"]);
    });
  },
};

/**
 * Updates the first pods of ten, three of which match, in one pass; returns how many of the updated match. Each pass
 * orders what is left again, so the whole order shows only in portions of fresh sets.
 */
async function matchingAmong(world: World, updated: number): Promise<number> {
  const clone = new CloneSet(world, `scattered-${updated}`);
  const strategy: Strategy = {
    policy: "InPlaceIfPossible",
    partition: 10 - updated,
    maxUnavailable: "100%",
    scatterStrategy: [{ key: "foo", value: "bar" }],
  };
  const pods = await clone.start({ replicas: 10, strategy }, { timeoutMs: 120_000 });
  for (const pod of pods.slice(0, 3)) await world.label(nameOf(pod), { foo: "bar" });
  // The controller learns of pods and of CloneSets by different watches: the labels get a moment to arrive.
  const matching = async () =>
    (await clone.pods()).filter(({ metadata }) => metadata.labels?.["foo"] === "bar");
  await world.stays(async () => assert.equal((await matching()).length, 3), 2_000);
  await clone.toImage("nginx:1.21");
  await clone.untilRow(`10 ${updated} ${updated} ${updated} 10 10`, { timeoutMs: 120_000 });
  const done = (await matching()).filter((pod) => imageOf(pod) === "nginx:1.21");
  await clone.remove();
  return done.length;
}

/** Labels the pods with these values, updates them one at a time, and returns the values in the order of the update. */
async function orderOf(
  clone: CloneSet,
  strategy: Strategy,
  key: string,
  values: readonly (string | undefined)[],
): Promise<(string | undefined)[]> {
  const { world } = clone;
  const pods = await clone.start({
    replicas: values.length,
    strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1, ...strategy },
  });
  for (const [index, pod] of pods.entries()) {
    const value = values[index];
    if (value !== undefined) await world.label(nameOf(pod), { [key]: value });
  }
  await world.stays(async () => assert.equal((await clone.livePods()).length, values.length), 2_000);
  const trail = await clone.trail();
  await clone.toImage("nginx:1.21");
  await clone.untilUpdated(values.length, "nginx:1.21");
  const updated = new Map<string, Item>();
  for (const { object } of await trail.stop()) {
    if (imageOf(object) === "nginx:1.21" && !updated.has(uidOf(object))) updated.set(uidOf(object), object);
  }
  return [...updated.values()].map(({ metadata }) => metadata.labels?.[key]);
}
