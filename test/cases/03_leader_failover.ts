import assert from "node:assert/strict";
import { type ControllerProcess, isLeader, leaderOf } from "./controllers.ts";
import { cloneSet, imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { extremesOf } from "./trail.ts";
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
    await world.step("1 one of the two leads", async () => {
      await world.until("one leader", async () => {
        await leaderOf(both);
        const lease = await world.api.get("leases", "kruise-manager", "kruise-system");
        assert.equal(lease.spec?.["leaseDurationSeconds"], 15);
        assert.ok(lease.spec?.["holderIdentity"]);
      });
    });
    await world.step("2 apply", async () => {
      await world.apply(
        cloneSet(world.version, {
          name: "failover",
          replicas: 10,
          strategy: { policy: "InPlaceIfPossible", maxUnavailable: 2 },
        }),
      );
      await world.untilAll("failover", 10);
    });
    await rollOverDeath(world, both);
  },
};

async function rollOverDeath(world: World, both: readonly ControllerProcess[]): Promise<void> {
  const before = await world.livePodsOf("failover");
  const trail = await world.trail("pods", "case=failover");
  let other: ControllerProcess | undefined;
  await world.step("3 and 4 the leader dies in mid-rollout", async () => {
    await world.patch("failover", "json", imagePatch("nginx:1.21"));
    const between = async () => {
      const updated = (await world.podsOf("failover")).filter(
        (pod) => pod.spec?.containers?.[0]?.image === "nginx:1.21",
      );
      assert.ok(updated.length >= 2, `${updated.length} updated`);
      await leaderOf(both);
    };
    await world.until("two or more updated", between, { stableMs: 0 });
    // Asked now: on a machine that stalls the lease may have changed hands since the beginning.
    const first = await leaderOf(both);
    await first.kill();
    other = both.find((controller) => controller !== first);
  });
  await world.step("5 admission goes on without a leader", () => admitFive(world));
  await world.step("4 the other takes over", async () => {
    await world.until("it leads", async () => assert.ok(other && (await isLeader(other))), {
      timeoutMs: 25_000,
      stableMs: 0,
    });
  });
  await world.step("3 to 6 the rollout ends within its budget", async () => {
    await world.untilAllUpdated("failover", 10, "nginx:1.21");
    const after = await world.podsOf("failover");
    const identity = (pods: typeof after) => pods.map((pod) => `${pod.metadata.uid} ${pod.spec?.nodeName}`);
    assert.deepEqual(identity(after), identity(before));
    for (const pod of after) assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 1);
    const { leastAvailable, worst } = extremesOf(await trail.stop());
    assert.ok(leastAvailable >= 8, `available fell to ${leastAvailable}: ${worst}`);
    // Events are no state: those that the dead leader had not sent yet (at most its budget's worth) are lost with it.
    await world.until("an event a pod", async () => {
      const events = await world.events("CloneSet", "failover", "SuccessfulUpdatePodInPlace");
      const pods = events.map(({ message }) => message.split(" ")[3]);
      assert.ok(pods.length >= 8 && pods.length <= 10, `${pods.length} events`);
      assert.equal(new Set(pods).size, pods.length, "none twice");
    });
    const revisions = await world.list("controllerrevisions", "case=failover");
    assert.equal(revisions.length, 2);
  });
}

async function admitFive(world: World): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const created = await world.apply(
      cloneSet(world.version, {
        name: "admitted",
        replicas: 0,
        labels: { case: "admitted" },
        strategy: { policy: "InPlaceIfPossible" },
      }),
    );
    assert.equal(created.spec?.["revisionHistoryLimit"], 10);
    assert.equal(created.spec?.updateStrategy?.["type"], "InPlaceIfPossible");
    await world.remove(world.cloneSets, "admitted");
    await new Promise((resolve) => setTimeout(resolve, world.simulated ? 200 : 1_000));
  }
}
