import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { type ControllerProcess, isLeader, leaderOf } from "./controllers.ts";
import { imageOf, nodeOf, restartsOf, uidOf } from "./items.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "03",
  title: "Two controllers, one leader",
  needs: ["own-controller"],
  versions: ["v1alpha1"],
  async run(world) {
    // One address and one authority for both, as behind a Service.
    const first = await world.startController({ leaderElection: true, certificatesInSecret: true });
    const { webhookPort } = first;
    const settings = { leaderElection: true, certificatesInSecret: true, webhookPort };
    const both = [first, await world.startController(settings)];
    const failover = new CloneSet(world, "failover");
    await world.step("1 one of the two leads", async () => {
      await world.until("one leader", async () => {
        await leaderOf(both);
        const lease = await world.api.get("leases", "kruise-manager", "kruise-system");
        assert.equal(lease.spec?.["leaseDurationSeconds"], 15);
        assert.ok(lease.spec?.["holderIdentity"]);
      });
    });
    await world.step("2 apply", async () => {
      await failover.start({ replicas: 10, strategy: { policy: "InPlaceIfPossible", maxUnavailable: 2 } });
    });
    await rollOverDeath(world, failover, both);
  },
};

async function rollOverDeath(
  world: World,
  failover: CloneSet,
  both: readonly ControllerProcess[],
): Promise<void> {
  const before = await failover.livePods();
  const trail = await failover.trail();
  let other: ControllerProcess | undefined;
  await world.step("3 and 4 the leader dies in mid-rollout", async () => {
    await failover.toImage("nginx:1.21");
    await world.once("two or more updated", async () => {
      const updated = (await failover.pods()).filter((pod) => imageOf(pod) === "nginx:1.21");
      assert.ok(updated.length >= 2, `${updated.length} updated`);
      await leaderOf(both);
    });
    // Asked now: on a machine that stalls the lease may have changed hands since the beginning.
    const first = await leaderOf(both);
    await first.kill();
    other = both.find((controller) => controller !== first);
  });
  await world.step("5 admission goes on without a leader", () => admitFive(world));
  await world.step("4 the other takes over", async () => {
    await world.once("it leads", async () => assert.ok(other && (await isLeader(other))), 25_000);
  });
  await world.step("3 to 6 the rollout ends within its budget", async () => {
    await failover.untilUpdated(10, "nginx:1.21");
    const after = await failover.pods();
    const identity = (pod: Item) => `${uidOf(pod)} ${nodeOf(pod)}`;
    assert.deepEqual(after.map(identity), before.map(identity));
    for (const pod of after) assert.equal(restartsOf(pod), 1);
    await trail.neverBelow(8);
    // Events are no state: those that the dead leader had not sent yet (at most its budget's worth) are lost with it.
    await world.until("an event a pod", async () => {
      const events = await failover.events("SuccessfulUpdatePodInPlace");
      const pods = events.map(({ message }) => message.split(" ")[3]);
      assert.ok(pods.length >= 8 && pods.length <= 10, `${pods.length} events`);
      assert.equal(new Set(pods).size, pods.length, "none twice");
    });
    assert.equal((await world.revisions("case=failover")).length, 2);
  });
}

async function admitFive(world: World): Promise<void> {
  const admitted = new CloneSet(world, "admitted");
  for (let round = 0; round < 5; round++) {
    const created = await admitted.create({ replicas: 0, strategy: { policy: "InPlaceIfPossible" } });
    assert.equal(created.spec?.["revisionHistoryLimit"], 10);
    assert.equal(created.spec?.updateStrategy?.["type"], "InPlaceIfPossible");
    await admitted.remove();
    await sleep(world.simulated ? 200 : 1_000);
  }
}
