import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { cloneSet, imagePatch, type Strategy } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { Moment } from "./trail.ts";
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
      const values = ["o-10", "o-5", undefined, "o-20"];
      const order = await orderOf(
        world,
        "ordered",
        4,
        { priorityStrategy: { orderPriority: [{ orderedKey: "rank" }] } },
        (index): Record<string, string> => {
          const rank = values[index];
          return rank === undefined ? {} : { rank };
        },
      );
      assert.deepEqual(
        order.map((pod) => pod.metadata.labels?.["rank"]),
        [undefined, "o-20", "o-10", "o-5"],
      );
    });
    await world.step("weight priority: heavier first", async () => {
      const values = ["light", "heavy", "none"];
      const weight = (weight: number, grade: string) => ({
        weight,
        matchSelector: { matchLabels: { grade } },
      });
      const order = await orderOf(
        world,
        "weighed",
        3,
        { priorityStrategy: { weightPriority: [weight(20, "light"), weight(80, "heavy")] } },
        (index) => ({ grade: values[index] ?? "" }),
      );
      assert.deepEqual(
        order.map((pod) => pod.metadata.labels?.["grade"]),
        ["heavy", "light", "none"],
      );
    });
  },
};

/**
 * Updates the first pods of ten, three of which match, in one pass; returns how many of the updated match. Each pass
 * orders what is left anew, so the whole order shows only in portions of fresh sets.
 */
async function matchingAmong(world: World, updated: number): Promise<number> {
  const name = `scattered-${updated}`;
  await world.apply(
    cloneSet(world.version, {
      name,
      replicas: 10,
      strategy: {
        policy: "InPlaceIfPossible",
        partition: 10 - updated,
        maxUnavailable: "100%",
        scatterStrategy: [{ key: "foo", value: "bar" }],
      },
    }),
  );
  const pods = await world.untilAll(name, 10, { timeoutMs: 120_000 });
  for (const pod of pods.slice(0, 3)) {
    await world.patch(pod.metadata.name, "merge", { metadata: { labels: { foo: "bar" } } }, "pods");
  }
  // The controller learns of pods and of CloneSets by different watches: the labels get a moment to arrive.
  await world.stays(
    async () => assert.equal((await world.list("pods", `case=${name},foo=bar`)).length, 3),
    2_000,
  );
  await world.patch(name, "json", imagePatch("nginx:1.21"));
  await world.untilRow(`${name} 10 ${updated} ${updated} ${updated} 10 10`, { timeoutMs: 120_000 });
  const done = (await world.podsOf(name)).filter((pod) => pod.spec?.containers?.[0]?.image === "nginx:1.21");
  await world.remove(world.cloneSets, name);
  return done.filter((pod) => pod.metadata.labels?.["foo"] === "bar").length;
}

/** Labels the pods, updates them one at a time, and returns them in the order of their update. */
async function orderOf(
  world: World,
  name: string,
  replicas: number,
  strategy: Strategy,
  labels: (index: number) => Record<string, string>,
): Promise<Item[]> {
  await world.apply(
    cloneSet(world.version, {
      name,
      replicas,
      strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1, ...strategy },
    }),
  );
  const pods = await world.untilAll(name, replicas);
  for (const [index, pod] of pods.entries()) {
    await world.patch(pod.metadata.name, "merge", { metadata: { labels: labels(index) } }, "pods");
  }
  await world.stays(async () => assert.equal((await world.livePodsOf(name)).length, replicas), 2_000);
  const trail = await world.trail("pods", `case=${name}`);
  await world.patch(name, "json", imagePatch("nginx:1.21"));
  await world.untilAllUpdated(name, replicas, "nginx:1.21");
  return firstWith(await trail.stop(), "nginx:1.21");
}

function firstWith(moments: readonly Moment[], image: string): Item[] {
  const updated = new Map<string, Item>();
  for (const { object } of moments) {
    const { uid } = object.metadata;
    if (object.spec?.containers?.[0]?.image === image && !updated.has(uid)) updated.set(uid, object);
  }
  return [...updated.values()];
}
