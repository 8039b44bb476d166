import assert from "node:assert/strict";
import { isGoing, nameOf } from "./items.ts";
import { isAvailable, ordinalOf, StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import { type Moment, presences } from "./trail.ts";

const podSpec = { terminationGracePeriodSeconds: 1 };
const more = { scaleStrategy: { maxUnavailable: "10%" } };

export const suite: Suite = {
  number: "26",
  title: "Advanced StatefulSet: limit while scaling out",
  needs: [],
  versions: ["v1beta1"],
  async run(world) {
    const slow = new StatefulSet(world, "slow");
    // A condition of the template's own gate stands for readiness: it can be set by hand on any node.
    const conditionType = "example.com/go";
    const status = { conditions: [{ type: conditionType, status: "True" }] };
    const go = (name: string) => world.patch("pods", name, "strategic", { status }, "status");
    await world.step("1 two pods", async () => {
      await slow.create({ replicas: 20, podSpec: { ...podSpec, readinessGates: [{ conditionType }] }, more });
      await slow.untilRow("20 2 2 0");
      await slow.staysAt("20 2 2 0");
      assert.deepEqual(await slow.ordinals(), [0, 1]);
    });
    await world.step("2 one more for each that is ready", async () => {
      const trail = await slow.trail();
      await go("slow-0");
      await slow.untilRow("20 3 3 1");
      assert.deepEqual(await slow.ordinals(), [0, 1, 2]);
      for (let done = 1; done < 20; done++) {
        await world.once(`slow-${done} exists`, async () =>
          assert.ok((await slow.ordinals()).includes(done)),
        );
        await go(`slow-${done}`);
      }
      await slow.untilAll(20);
      const moments = await trail.stop();
      assertFewUnavailable(moments, 2);
      const order = moments.filter(({ type }) => type === "ADDED").map(({ object }) => ordinalOf(object));
      const expected = [...Array(18).keys()].map((index) => index + 2);
      assert.deepEqual(
        order.toSorted((a, b) => a - b),
        expected,
      );
      // By ordinal; two that were allowed at once may be stored either way round.
      const isNear = (ordinal: number, index: number) => Math.abs(ordinal - (index + 2)) < 2;
      assert.ok(order.every(isNear), order.join());
    });
    await world.step("3 deletion is not limited", async () => {
      const trail = await slow.trail();
      await slow.scale(5);
      await slow.untilAll(5);
      const going = (await trail.stop()).map(({ object }) => object).filter(isGoing);
      assert.equal(new Set(going.map(nameOf)).size, 15);
    });
    await world.step("4 a hundred", async () => {
      if (!world.simulated) return;
      const wide = new StatefulSet(world, "wide");
      const trail = await wide.trail();
      await wide.create({ replicas: 100, podSpec, more });
      await wide.untilAll(100, { timeoutMs: 180_000 });
      assertFewUnavailable(await trail.stop(), 10);
    });
    await world.step("5 what is refused", () =>
      new StatefulSet(world, "ordered-scale").refusesShape(
        { replicas: 3, policy: null, more },
        "spec.scaleStrategy.maxUnavailable",
        "can only work with Parallel PodManagementPolicyType",
      ),
    );
  },
};

/** Fails when more pods than these existed without being available, at any moment. */
function assertFewUnavailable(moments: readonly Moment[], most: number): void {
  for (const { pods } of presences(moments)) {
    const waiting = pods.filter((pod) => !isAvailable(pod)).map(nameOf);
    assert.ok(waiting.length <= most, `${waiting.join()} were not available`);
  }
}
