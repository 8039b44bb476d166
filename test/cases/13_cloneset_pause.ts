import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { cloneSet, imagePatch, strategyPatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { conditionOf, extremesOf } from "./trail.ts";
import type { World } from "./world.ts";

const alpha = "clonesets.v1alpha1.apps.kruise.io";

export const suite: Suite = {
  number: "13",
  title: "CloneSet: pause",
  needs: [],
  async run(world) {
    await world.step("1 pods are created", async () => {
      await world.apply(
        cloneSet(world.version, {
          name: "hold",
          replicas: 3,
          strategy: { policy: "InPlaceIfPossible", paused: true, maxUnavailable: 1 },
          more: { progressDeadlineSeconds: 600 },
        }),
      );
      await world.untilAll("hold", 3);
    });
    const first = await world.livePodsOf("hold");
    await world.step("2 nothing is updated", () => heldBack(world, first));
    await world.step("3 scaling goes on with the new revision", async () => {
      await world.scale("hold", 4);
      await world.untilRow("hold 4 1 1 1 4 4");
    });
    await world.step("4 repair too", async () => {
      await world.remove("pods", first[0]?.metadata.name ?? "");
      await world.untilRow("hold 4 2 2 2 4 4");
    });
    await world.step("5 resume", () => resume(world, first.slice(1)));
    await world.step("6 pause with nothing to hold back", async () => {
      const { generation } = await pause(world, true);
      await world.until("observed", async () => {
        const { status } = await world.get("hold");
        assert.ok((status?.observedGeneration ?? 0) >= generation);
        assert.equal(await progressing(world), "True CloneSetAvailable CloneSet is available");
        assert.equal(await world.row("hold"), "hold 4 4 4 4 4 4");
      });
      const { code, stderr } = await world.refit("rollout", "pause", "clone/hold");
      assert.notEqual(code, 0);
      assert.match(stderr.trim(), /is already paused$/);
    });
  },
};

async function pause(world: World, paused: boolean): Promise<Item["metadata"]> {
  return (await world.patch("hold", "merge", strategyPatch("v1alpha1", { paused }), alpha)).metadata;
}

async function progressing(world: World): Promise<string> {
  const condition = conditionOf(await world.get("hold"), "Progressing");
  return `${condition?.status} ${condition?.reason} ${condition?.message}`;
}

async function heldBack(world: World, pods: readonly Item[]): Promise<void> {
  await world.patch("hold", "json", imagePatch("nginx:1.21"));
  await world.until("the change is seen and held", async () => {
    const row = await world.row("hold");
    assert.match(row, /^hold 3 (0 )*3 3$/);
    assert.equal(await progressing(world), "True CloneSetPaused CloneSet is paused");
  });
  await world.stays(async () => {
    const now = await world.podsOf("hold");
    assert.deepEqual(
      now.map((pod) => pod.metadata.uid),
      pods.map((pod) => pod.metadata.uid),
    );
    assert.ok(now.every((pod) => pod.spec?.containers?.[0]?.image === "nginx:1.20"));
    assert.ok(now.every((pod) => pod.status?.containerStatuses?.[0]?.restartCount === 0));
  });
}

async function resume(world: World, old: readonly Item[]): Promise<void> {
  const trail = await world.trail("pods", "case=hold");
  await pause(world, false);
  await world.until("all updated", async () => {
    assert.equal(await world.row("hold"), "hold 4 4 4 4 4 4");
    assert.equal(await progressing(world), "True CloneSetAvailable CloneSet is available");
  });
  const pods = await world.podsOf("hold");
  for (const { metadata } of old) {
    const pod = pods.find((candidate) => candidate.metadata.uid === metadata.uid);
    assert.equal(pod?.spec?.containers?.[0]?.image, "nginx:1.21");
    assert.equal(pod?.status?.containerStatuses?.[0]?.restartCount, 1);
  }
  const { leastAvailable, worst } = extremesOf(await trail.stop());
  assert.ok(leastAvailable >= 3, `available fell to ${leastAvailable}: ${worst}`);
}
