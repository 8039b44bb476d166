import assert from "node:assert/strict";
import { shardOf } from "../../controller/index.ts";
import { CloneSet } from "./clone_sets.ts";
import { uidOf } from "./items.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const shards = 3;
const replicas = 5;

/** Two replicas share three shards; one is killed in mid-rollout, and the other one finishes what both began. */
export const suite: Suite = {
  number: "f02",
  title: "Fault: a replica that shares the shards dies",
  needs: ["own-controller"],
  versions: ["v1beta1"],
  async run(world) {
    const first = await world.startController({ leaderElection: true, certificatesInSecret: true, shards });
    const { webhookPort } = first;
    const second = await world.startController({
      leaderElection: true,
      certificatesInSecret: true,
      shards,
      webhookPort,
    });
    await world.step("every shard is led, by both replicas", async () => {
      await world.within(60_000, "three leases, two holders", async () => {
        const holders = await holdersOf(world);
        assert.ok(holders.every((holder) => holder !== ""));
        assert.equal(new Set(holders).size, 2);
      });
    });
    const clones: CloneSet[] = [];
    await world.step("workloads of all shards are created", async () => {
      // Which shard has a workload follows from its UID.
      for (const covered = new Set<number>(); covered.size < shards || clones.length < 6; ) {
        const clone = new CloneSet(world, `spread-${clones.length}`);
        const strategy = { policy: "InPlaceIfPossible", maxUnavailable: 1 } as const;
        covered.add(shardOf(uidOf(await clone.create({ replicas, strategy })), shards));
        clones.push(clone);
      }
      for (const clone of clones) await clone.untilAll(replicas, { timeoutMs: 120_000 });
    });
    await world.step("one dies in mid-rollout, all rollouts end within their budget", async () => {
      const trails = await Promise.all(clones.map((clone) => clone.trail()));
      await Promise.all(clones.map((clone) => clone.toImage("nginx:1.21")));
      await first.kill();
      for (const clone of clones) await clone.untilUpdated(replicas, "nginx:1.21", { timeoutMs: 180_000 });
      for (const trail of trails) await trail.neverBelow(replicas - 1);
    });
    await world.step("the other one leads every shard", async () => {
      await world.within(60_000, "three leases, one holder", async () =>
        assert.equal(new Set(await holdersOf(world)).size, 1),
      );
      assert.equal(second.exitCode(), undefined);
    });
  },
};

async function holdersOf(world: World): Promise<string[]> {
  const holders: string[] = [];
  for (let shard = 0; shard < shards; shard++) {
    const lease = await world.api.get("leases", `kruise-manager-${shard}`, "kruise-system");
    holders.push(String(lease.spec?.["holderIdentity"] ?? ""));
  }
  return holders;
}
