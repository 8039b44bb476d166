import assert from "node:assert/strict";
import { orderOfNewPods, StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

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
    const rank = new StatefulSet(world, "rank");
    const queue = new StatefulSet(world, "queue");
    // Labels of pods and changes of a set come by two watches. Once later pods are counted, the labels are known.
    await world.step("1 by weight: create", async () => {
      await rank.start({ replicas: 5, podSpec, rollingUpdate: unordered({ weightPriority }) });
      await world.label("rank-1", { tier: "first" });
      await world.label("rank-2", { tier: "second" });
    });
    await world.step("3 by order: create", async () => {
      await queue.start({ replicas: 5, podSpec, rollingUpdate: unordered({ orderPriority }) });
      await world.label("queue-0", { turn: "t-5" });
      await world.label("queue-2", { turn: "t-10" });
    });
    await world.step("2 by weight: update", async () => {
      assert.deepEqual(await orderOfUpdate(rank), ["rank-1", "rank-2", "rank-4", "rank-3", "rank-0"]);
    });
    await world.step("4 by order: update", async () => {
      assert.deepEqual(await orderOfUpdate(queue), ["queue-4", "queue-3", "queue-1", "queue-2", "queue-0"]);
    });
    await world.step("5 with partition", async () => {
      await world.label("rank-1", { tier: "first" });
      await world.label("rank-2", { tier: "second" });
      await queue.scale(4);
      await queue.untilAll(4);
      const trail = await rank.trail();
      await rank.roll({ partition: 3 });
      await rank.toImage("nginx:1.22");
      await rank.untilRow("5 5 2 5");
      await rank.staysAt("5 5 2 5", 10_000);
      assert.deepEqual(orderOfNewPods(await trail.stop()), ["rank-1", "rank-2"]);
    });
    await world.step("6 what is refused", async () => {
      await new StatefulSet(world, "both").refusesShape(
        { replicas: 1, rollingUpdate: unordered({ weightPriority, orderPriority }) },
        "only one of weightPriority and orderPriority can be used",
      );
      await new StatefulSet(world, "ordered-rank").refusesShape(
        { replicas: 1, policy: null, rollingUpdate: unordered({ orderPriority }) },
        "unorderedUpdate can only work with Parallel PodManagementPolicyType",
      );
    });
  },
};

async function orderOfUpdate(set: StatefulSet): Promise<string[]> {
  const trail = await set.trail();
  await set.toImage("nginx:1.21");
  await set.untilAt("1.21", "5 5 5 5");
  return orderOfNewPods(await trail.stop());
}
