import assert from "node:assert/strict";
import { builtProgram } from "../built.ts";
import { CloneSet } from "../cases/clone_sets.ts";
import { leaderOf } from "../cases/controllers.ts";
import { extremesOf } from "../cases/trail.ts";
import { crowding } from "../cluster/patience.ts";
import { startAdmissions } from "./admissions.ts";
import { newerWords, presentWords } from "./builds.ts";
import { definitionSays, Installation, installBuild } from "./installation.ts";
import { courseOfRollout, otherwiseChanged } from "./rollout_course.ts";
import type { LifeSuite } from "./suite.ts";

const name = "life";
const replicas = 300;
const maxUnavailable = 30;
/** Of the Lease, and for a replica that has just got it to fill its caches. */
const leaseMs = 15_000;
const startMs = 5_000;
const admissionLanes = 4;

/**
 * A CloneSet of 300 pods is rolled out again and again, and in the middle of each rollout something happens to whoever
 * carries it out. Pods must not notice: one restart a rollout, the budget kept at every moment, no pause that is longer than
 * a lease without a holder.
 */
export const upgradeSuite: LifeSuite = {
  number: "l01",
  title: "Upgrade, death of the leader and roll-back in the middle of rollouts",
  needs: ["own-controller"],
  versions: ["v1beta1"],
  async run(world, options) {
    const installation = new Installation(world);
    const clone = new CloneSet(world, name);
    const rollouts = new Rollouts(clone, options.print);
    await world.step("two replicas, 300 pods", async () => {
      await installation.begin();
      const { nodes } = options;
      await clone.start(
        {
          replicas,
          templateMetadata: { labels: nodes.labels },
          podSpec: nodes.podSpec("app:1"),
          strategy: { policy: "InPlaceIfPossible", maxUnavailable },
        },
        { timeoutMs: 180_000, stableMs: 0 },
      );
    });
    await world.step("upgrade to a newer build in mid-rollout", () =>
      rollouts.during("app:2", async () => {
        const admissions = startAdmissions(world, admissionLanes);
        await installBuild(options.newerProgram, world.kubeconfig);
        await installation.replace(options.newerProgram);
        await expectAllAnswered(admissions);
        assert.ok(await definitionSays(world, newerWords), "the newer definition is installed");
      }),
    );
    await world.step("SIGKILL of the leader in mid-rollout", () =>
      rollouts.during("app:3", async () => {
        await installation.killed(await leaderOf(installation.replicas));
      }),
    );
    await world.step("roll-back to the older build in mid-rollout", () =>
      rollouts.during("app:4", async () => {
        const admissions = startAdmissions(world, admissionLanes);
        await installBuild(builtProgram("refit"), world.kubeconfig);
        await installation.replace();
        await expectAllAnswered(admissions);
        assert.ok(await definitionSays(world, presentWords), "the older definition is back");
      }),
    );
  },
};

async function expectAllAnswered(admissions: ReturnType<typeof startAdmissions>): Promise<void> {
  const { answered, refused } = await admissions.stop();
  assert.deepEqual(refused.slice(0, 5), [], `${refused.length} refused, ${answered} answered`);
  assert.ok(answered > 0);
}

class Rollouts {
  readonly #clone: CloneSet;
  readonly #print: (line: string) => void;

  constructor(clone: CloneSet, print: (line: string) => void) {
    this.#clone = clone;
    this.#print = print;
  }

  /** Rolls the image out, calls `happen` when a fifth of the pods have it, and checks the whole course at the end. */
  async during(image: string, happen: () => Promise<void>): Promise<void> {
    const clone = this.#clone;
    const before = await clone.pods();
    const trail = await clone.trail();
    const since = Date.now();
    await clone.toImage(image);
    await clone.world.once("a fifth of the pods has the image", async () => {
      const { updated } = courseOfRollout(trail.moments, image, since);
      assert.ok(updated >= replicas / 5, `${updated} updated`);
    });
    const { updated: atStart } = courseOfRollout(trail.moments, image, since);
    await happen();
    await clone.untilUpdated(replicas, image, { timeoutMs: 180_000, stableMs: 1_000 });
    const moments = await trail.stop();
    const { longestPauseMs } = courseOfRollout(moments, image, since);
    const { leastAvailable, worst } = extremesOf(moments);
    const seconds = ((Date.now() - since) / 1000).toFixed(1);
    this.#print(
      `figures: ${image} in ${seconds} s, longest pause ${longestPauseMs} ms, never less than ${leastAvailable} available`,
    );
    assert.ok(atStart < replicas * 0.8, `${atStart} pods had the image before anything happened`);
    const changed = otherwiseChanged(before, await clone.pods(), 1);
    assert.deepEqual(changed, [], "pods with other than one restart");
    assert.ok(leastAvailable >= replicas - maxUnavailable, `available fell to ${leastAvailable}: ${worst}`);
    assert.ok(longestPauseMs <= leaseMs + startMs * crowding(), `${longestPauseMs} ms without progress`);
  }
}
