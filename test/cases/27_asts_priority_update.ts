import assert from "node:assert/strict";
import { orderOfNewPods, Sets, statefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const podSpec = { terminationGracePeriodSeconds: 1 };
const weightPriority = [
  { weight: 50, matchSelector: { matchLabels: { tier: "first" } } },
  { weight: 30, matchSelector: { matchLabels: { tier: "second" } } },
];
const orderPriority = [{ orderedKey: "turn" }];
const unordered = (priorityStrategy: object) => ({ unorderedUpdate: { priorityStrategy } });

export const suite: Suite = {
  number: "27",
  title: "Advanced StatefulSet: update by priority instead of ordinal",
  needs: [],
  async run(world) {
    const sets = new Sets(world);
    // Labels of pods and changes of a set come by two watches. Once later pods are counted, the labels are known.
    await world.step("1 by weight: create", async () => {
      const rollingUpdate = unordered({ weightPriority });
      await world.apply(statefulSet(world.version, { name: "rank", replicas: 5, podSpec, rollingUpdate }));
      await sets.untilRow("rank 5 5 5 5");
      await label(world, "rank-1", { tier: "first" });
      await label(world, "rank-2", { tier: "second" });
    });
    await world.step("3 by order: create", async () => {
      const rollingUpdate = unordered({ orderPriority });
      await world.apply(statefulSet(world.version, { name: "queue", replicas: 5, podSpec, rollingUpdate }));
      await sets.untilRow("queue 5 5 5 5");
      await label(world, "queue-0", { turn: "t-5" });
      await label(world, "queue-2", { turn: "t-10" });
    });
    await world.step("2 by weight: update", async () => {
      const order = await orderOfUpdate(world, sets, "rank", "nginx:1.21");
      assert.deepEqual(order, ["rank-1", "rank-2", "rank-4", "rank-3", "rank-0"]);
    });
    await world.step("4 by order: update", async () => {
      const order = await orderOfUpdate(world, sets, "queue", "nginx:1.21");
      assert.deepEqual(order, ["queue-4", "queue-3", "queue-1", "queue-2", "queue-0"]);
    });
    await world.step("5 with partition", async () => {
      await label(world, "rank-1", { tier: "first" });
      await label(world, "rank-2", { tier: "second" });
      await sets.scale("queue", 4);
      await sets.untilRow("queue 4 4 4 4");
      const trail = await world.trail("pods", "case=rank");
      await sets.roll("rank", { partition: 3 });
      await sets.toImage("rank", "nginx:1.22");
      await sets.untilRow("rank 5 5 2 5");
      await world.stays(async () => assert.equal(await sets.row("rank"), "rank 5 5 2 5"), 10_000);
      assert.deepEqual(orderOfNewPods(await trail.stop()), ["rank-1", "rank-2"]);
    });
    await world.step("6 what is refused", async () => {
      const both = unordered({ weightPriority, orderPriority });
      const message = await sets.refused(
        statefulSet(world.version, { name: "both", replicas: 1, rollingUpdate: both }),
      );
      assert.ok(message.includes("only one of weightPriority and orderPriority can be used"), message);
      const ordered = await sets.refused(
        statefulSet(world.version, {
          name: "ordered-rank",
          replicas: 1,
          policy: null,
          rollingUpdate: unordered({ orderPriority }),
        }),
      );
      assert.ok(
        ordered.includes("unorderedUpdate can only work with Parallel PodManagementPolicyType"),
        ordered,
      );
    });
  },
};

async function label(world: World, name: string, labels: Record<string, string>): Promise<void> {
  await world.patch(name, "merge", { metadata: { labels } }, "pods");
}

async function orderOfUpdate(world: World, sets: Sets, name: string, image: string): Promise<string[]> {
  const trail = await world.trail("pods", `case=${name}`);
  await sets.toImage(name, image);
  await world.until(
    `${name} at ${image}`,
    async () => {
      assert.equal(await sets.row(name), `${name} 5 5 5 5`);
      assert.deepEqual([...new Set(Object.values(await sets.images(name)))], [image.split(":")[1]]);
    },
    { timeoutMs: 120_000 },
  );
  return orderOfNewPods(await trail.stop());
}
