import assert from "node:assert/strict";
import { CloneSet } from "../cases/clone_sets.ts";
import { leaderOf } from "../cases/controllers.ts";
import { imageOf } from "../cases/items.ts";
import type { World } from "../cases/world.ts";
import { MovedClock } from "../cluster/moved_clock.ts";
import { startAdmissions } from "./admissions.ts";
import { Installation } from "./installation.ts";
import { otherwiseChanged } from "./rollout_course.ts";
import { startPods } from "./started_pods.ts";
import type { Life, LifeSuite } from "./suite.ts";

const name = "clock";
const replicas = 60;
const maxUnavailable = 6;
const hour = 3_600;

/** The clocks of both replicas are set by an hour, forward and back: the wall clock alone, as an administrator or NTP does. */
export const clockSuite: LifeSuite = {
  number: "l05",
  title: "The clock is set by an hour in the middle of rollouts",
  needs: ["own-controller"],
  versions: ["v1beta1"],
  async run(world, life) {
    const clock = new MovedClock();
    try {
      await rollOut(world, life, clock);
    } finally {
      clock.remove();
    }
  },
};

async function rollOut(world: World, { nodes, print }: Life, clock: MovedClock): Promise<void> {
  const clone = new CloneSet(world, name);
  const installation = new Installation(world, { environment: clock.environment });
  await world.step(`two replicas, ${replicas} pods`, async () => {
    await installation.begin();
    await startPods(world, nodes, { name, replicas, maxUnavailable });
  });
  const leader = await leaderOf(installation.replicas);
  for (const [image, words, seconds] of [
    ["app:2", "forward", hour],
    ["app:3", "back to an hour ago", -hour],
  ] as const) {
    await world.step(`set ${words}: the rollout goes on under the same leader`, async () => {
      const before = await clone.pods();
      const admissions = startAdmissions(world, 2);
      const trail = await clone.trail();
      await clone.toImage(image);
      const updated = async () => (await clone.pods()).filter((pod) => imageOf(pod) === image).length;
      await world.once("some are updated", async () => assert.ok((await updated()) >= maxUnavailable));
      clock.set(seconds);
      const since = performance.now();
      await clone.untilUpdated(replicas, image, { timeoutMs: 180_000, stableMs: 1_000 });
      print(
        `figures: ${image} ended ${((performance.now() - since) / 1000).toFixed(1)} s after the clock was set`,
      );
      await trail.neverBelow(replicas - maxUnavailable);
      assert.deepEqual(otherwiseChanged(before, await clone.pods(), 1), []);
      assert.equal(await leaderOf(installation.replicas), leader);
      const { answered, refused } = await admissions.stop();
      assert.deepEqual(refused.slice(0, 5), [], `${refused.length} refused, ${answered} answered`);
    });
  }
  await world.step("the replicas' clock was really set", async () => {
    const lease = await world.api.get("leases", "kruise-manager", "kruise-system");
    const behindMs = Date.now() - Date.parse(String(lease.spec?.["renewTime"]));
    assert.ok(Math.abs(behindMs - hour * 1000) < 120_000, `the Lease was renewed ${behindMs} ms ago`);
  });
}
