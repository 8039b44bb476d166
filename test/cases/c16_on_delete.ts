import assert from "node:assert/strict";
import { container, imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { conditionOf } from "./trail.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "c16",
  title: "CloneSet: OnDelete",
  needs: [],
  versions: ["v1beta1"],
  async run(world) {
    await world.step("a new template changes no pod", async () => {
      await world.apply({
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "CloneSet",
        metadata: { name: "by-hand" },
        spec: {
          replicas: 5,
          progressDeadlineSeconds: 600,
          selector: { matchLabels: { case: "by-hand" } },
          updateStrategy: { type: "OnDelete" },
          template: {
            metadata: { labels: { case: "by-hand" } },
            spec: { terminationGracePeriodSeconds: 1, containers: [container("nginx", "nginx:1.20")] },
          },
        },
      });
      await world.untilAll("by-hand", 5);
      await world.patch("by-hand", "json", imagePatch("nginx:1.21"));
      await world.until("the revision is new", async () => {
        const { status } = await world.get("by-hand");
        assert.notEqual(status?.updateRevision, status?.currentRevision);
        assert.equal(status?.updatedReplicas, 0);
      });
      await world.stays(async () => assert.equal((await images(world))["nginx:1.20"], 5));
    });
    await world.step("deleted pods come back updated", async () => {
      await deleteOld(world, 2);
      await world.untilRow("by-hand 5 2 2 2 5 5");
    });
    await world.step("scale-in takes old ones, scale-out adds new ones", async () => {
      await world.scale("by-hand", 3);
      await world.untilRow("by-hand 3 2 2 2 3 3");
      await world.scale("by-hand", 5);
      await world.untilRow("by-hand 5 4 4 4 5 5");
    });
    await world.step("the last old pod ends the rollout", async () => {
      await deleteOld(world, 1);
      await world.untilAll("by-hand", 5);
      assert.equal(conditionOf(await world.get("by-hand"), "Progressing")?.reason, "CloneSetAvailable");
    });
  },
};

async function images(world: World): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const pod of await world.livePodsOf("by-hand")) {
    const image = pod.spec?.containers?.[0]?.image ?? "";
    counts[image] = (counts[image] ?? 0) + 1;
  }
  return counts;
}

async function deleteOld(world: World, count: number): Promise<void> {
  const old = (await world.livePodsOf("by-hand")).filter(
    (pod) => pod.spec?.containers?.[0]?.image === "nginx:1.20",
  );
  for (const pod of old.slice(0, count)) await world.remove("pods", pod.metadata.name);
}
