import assert from "node:assert/strict";
import { shardOf } from "../../controller/index.ts";
import { cloneSet, imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { extremesOf } from "./trail.ts";
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
      await world.until(
        "three leases, two holders",
        async () => {
          const holders = await holdersOf(world);
          assert.ok(holders.every((holder) => holder !== ""));
          assert.equal(new Set(holders).size, 2);
        },
        { timeoutMs: 60_000 },
      );
    });
    const names: string[] = [];
    await world.step("workloads of all shards are created", async () => {
      // Which shard has a workload follows from its UID.
      for (const covered = new Set<number>(); covered.size < shards || names.length < 6; ) {
        const name = `spread-${names.length}`;
        const strategy = { policy: "InPlaceIfPossible", maxUnavailable: 1 } as const;
        const made = await world.apply(cloneSet(world.version, { name, replicas, strategy }));
        covered.add(shardOf(made.metadata.uid ?? "", shards));
        names.push(name);
      }
      for (const name of names) await world.untilAll(name, replicas, { timeoutMs: 120_000 });
    });
    await world.step("one dies in mid-rollout, all rollouts end within their budget", async () => {
      const trails = await Promise.all(names.map((name) => world.trail("pods", `case=${name}`)));
      await Promise.all(names.map((name) => world.patch(name, "json", imagePatch("nginx:1.21"))));
      await first.kill();
      for (const name of names)
        await world.untilAllUpdated(name, replicas, "nginx:1.21", { timeoutMs: 180_000 });
      for (const trail of trails) {
        const { leastAvailable, worst } = extremesOf(await trail.stop());
        assert.ok(leastAvailable >= replicas - 1, `available fell to ${leastAvailable}: ${worst}`);
      }
    });
    await world.step("the other one leads every shard", async () => {
      await world.until(
        "three leases, one holder",
        async () => assert.equal(new Set(await holdersOf(world)).size, 1),
        { timeoutMs: 60_000 },
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
