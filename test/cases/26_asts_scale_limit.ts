import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { isAvailable, Sets, statefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import type { Moment } from "./trail.ts";

const podSpec = { terminationGracePeriodSeconds: 1 };
const scaleStrategy = { maxUnavailable: "10%" };

export const suite: Suite = {
  number: "26",
  title: "Advanced StatefulSet: limit while scaling out",
  needs: [],
  versions: ["v1beta1"],
  async run(world) {
    const sets = new Sets(world);
    // A condition of the template's own gate stands for readiness: it can be set by hand on any node.
    const gate = "example.com/go";
    const go = (name: string) =>
      world.api.patch(
        "pods",
        name,
        world.namespace,
        "strategic",
        { status: { conditions: [{ type: gate, status: "True" }] } },
        "status",
      );
    await world.step("1 two pods", async () => {
      const slow = { ...podSpec, readinessGates: [{ conditionType: gate }] };
      await world.apply(
        statefulSet(world.version, { name: "slow", replicas: 20, podSpec: slow, more: { scaleStrategy } }),
      );
      await sets.untilRow("slow 20 2 2 0");
      await world.stays(async () => assert.equal(await sets.row("slow"), "slow 20 2 2 0"));
      assert.deepEqual(await sets.ordinals("slow"), [0, 1]);
    });
    await world.step("2 one more for each that is ready", async () => {
      const trail = await world.trail("pods", "case=slow");
      await go("slow-0");
      await sets.untilRow("slow 20 3 3 1");
      assert.deepEqual(await sets.ordinals("slow"), [0, 1, 2]);
      for (let done = 1; done < 20; done++) {
        await world.until(
          `slow-${done} exists`,
          async () => assert.ok((await sets.ordinals("slow")).includes(done)),
          { stableMs: 0 },
        );
        await go(`slow-${done}`);
      }
      await sets.untilRow("slow 20 20 20 20");
      const moments = await trail.stop();
      assert.ok(mostNotAvailable(moments) <= 2, `${mostNotAvailable(moments)} were not available`);
      const order = createdOrder(moments);
      assert.deepEqual(
        order.toSorted((a, b) => a - b),
        [...Array(18).keys()].map((index) => index + 2),
      );
      // By ordinal; two that were allowed at once may be stored either way round.
      assert.ok(
        order.every((ordinal, index) => Math.abs(ordinal - (index + 2)) < 2),
        order.join(),
      );
    });
    await world.step("3 deletion is not limited", async () => {
      const trail = await world.trail("pods", "case=slow");
      await sets.scale("slow", 5);
      await sets.untilRow("slow 5 5 5 5");
      const moments = await trail.stop();
      const going = moments.filter(({ object }) => object.metadata.deletionTimestamp !== undefined);
      assert.equal(new Set(going.map(({ object }) => object.metadata.name)).size, 15);
    });
    await world.step("4 a hundred", async () => {
      if (!world.simulated) return;
      const trail = await world.trail("pods", "case=wide");
      await world.apply(
        statefulSet(world.version, { name: "wide", replicas: 100, podSpec, more: { scaleStrategy } }),
      );
      await sets.untilRow("wide 100 100 100 100", { timeoutMs: 180_000 });
      const moments = await trail.stop();
      assert.ok(mostNotAvailable(moments) <= 10, `${mostNotAvailable(moments)} were not available`);
    });
    await world.step("5 what is refused", async () => {
      const ordered = { name: "ordered-scale", replicas: 3, policy: null, more: { scaleStrategy } };
      const message = await sets.refused(statefulSet(world.version, ordered));
      assert.ok(message.includes("spec.scaleStrategy.maxUnavailable"), message);
      assert.ok(message.includes("can only work with Parallel PodManagementPolicyType"), message);
    });
  },
};

/** Most pods that existed without being available, at any moment. */
function mostNotAvailable(moments: readonly Moment[]): number {
  const present = new Map<string, Item>();
  let most = 0;
  for (const { type, object } of moments) {
    if (type === "DELETED") present.delete(object.metadata.name);
    else present.set(object.metadata.name, object);
    most = Math.max(most, [...present.values()].filter((pod) => !isAvailable(pod)).length);
  }
  return most;
}

function createdOrder(moments: readonly Moment[]): number[] {
  return moments
    .filter(({ type }) => type === "ADDED")
    .map(({ object }) => Number(object.metadata.name.slice("slow-".length)));
}
