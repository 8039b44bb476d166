import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { cloneSet, imagePatch, strategyPatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { extremesOf } from "./trail.ts";
import type { World } from "./world.ts";

const alpha = "clonesets.v1alpha1.apps.kruise.io";

export const suite: Suite = {
  number: "12",
  title: "CloneSet: update in portions with partition",
  needs: [],
  async run(world) {
    await world.step("1 apply", async () => {
      await world.apply(
        cloneSet(world.version, {
          name: "grey",
          replicas: 5,
          labels: { case: "grey" },
          selector: { matchExpressions: [{ key: "case", operator: "In", values: ["grey", "gray"] }] },
          strategy: { policy: "InPlaceIfPossible", partition: 3, maxUnavailable: 2 },
        }),
      );
      await world.untilAll("grey", 5);
    });
    const before = await world.livePodsOf("grey");
    await world.step("2 a portion of two", () => portionOfTwo(world, before));
    await world.step("3 replacements keep their side", async () => {
      await replaceOne(world, "nginx:1.20");
      await replaceOne(world, "nginx:1.21");
    });
    await world.step("4 partition 1", async () => {
      const trail = await world.trail("pods", "case=grey");
      await partition(world, 1);
      await world.untilRow("grey 5 4 4 4 5 5");
      assert.deepEqual(await imagesOf(world), { "nginx:1.20": 1, "nginx:1.21": 4 });
      const { leastAvailable, worst } = extremesOf(await trail.stop());
      assert.ok(leastAvailable >= 3, `available fell to ${leastAvailable}: ${worst}`);
    });
    await world.step("5 raising it rolls nothing back", async () => {
      const uids = (await world.podsOf("grey")).map(revisionOfPod);
      await partition(world, 4);
      await world.stays(async () => {
        assert.equal(await world.row("grey"), "grey 5 4 4 4 5 5");
        assert.deepEqual((await world.podsOf("grey")).map(revisionOfPod), uids);
      });
    });
    await world.step("6 partition 0", async () => {
      await partition(world, 0);
      await world.untilAll("grey", 5);
      const { status } = await world.get("grey");
      assert.equal(status?.currentRevision, status?.updateRevision);
    });
    await world.step("7 99% lets one through", () => almostAll(world));
    await world.step("8 a bare number is no percentage", async () => {
      const message = await world.refused(() => partition(world, "5"), 422);
      assert.ok(message.includes("invalid type: string is not a percentage"), message);
    });
  },
};

function partition(world: World, value: number | string): Promise<Item> {
  return world.patch("grey", "merge", strategyPatch("v1alpha1", { partition: value }), alpha);
}

function imageOf(pod: Item): string {
  return pod.spec?.containers?.[0]?.image ?? "";
}

function revisionOfPod(pod: Item): string {
  return `${pod.metadata.uid} ${pod.metadata.labels?.["controller-revision-hash"]}`;
}

async function imagesOf(world: World): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const pod of await world.livePodsOf("grey")) counts[imageOf(pod)] = (counts[imageOf(pod)] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).sort());
}

async function portionOfTwo(world: World, before: readonly Item[]): Promise<void> {
  await world.patch("grey", "json", imagePatch("nginx:1.21"));
  await world.until("two updated", async () => {
    assert.equal(await world.row("grey"), "grey 5 2 2 2 5 5");
    const { status } = await world.get("grey");
    assert.equal(status?.expectedUpdatedReplicas, 2);
    assert.notEqual(status?.currentRevision, status?.updateRevision);
  });
  const pods = await world.podsOf("grey");
  assert.deepEqual(
    pods.map((pod) => pod.metadata.uid),
    before.map((pod) => pod.metadata.uid),
  );
  for (const pod of pods) {
    const restarts = pod.status?.containerStatuses?.[0]?.restartCount;
    assert.equal(restarts, imageOf(pod) === "nginx:1.21" ? 1 : 0);
  }
  await world.stays(
    async () => assert.deepEqual(await imagesOf(world), { "nginx:1.20": 3, "nginx:1.21": 2 }),
    10_000,
  );
}

async function replaceOne(world: World, image: string): Promise<void> {
  const before = await world.livePodsOf("grey");
  const victim = before.find((pod) => imageOf(pod) === image);
  if (victim === undefined) throw new Error(`no pod has ${image}`);
  await world.remove("pods", victim.metadata.name);
  await world.until(`another pod with ${image}`, async () => {
    assert.equal(await world.row("grey"), "grey 5 2 2 2 5 5");
    const pods = await world.podsOf("grey");
    const fresh = pods.filter((pod) => !before.some((old) => old.metadata.uid === pod.metadata.uid));
    assert.deepEqual(fresh.map(imageOf), [image]);
    const revision = victim.metadata.labels?.["controller-revision-hash"];
    assert.equal(fresh[0]?.metadata.labels?.["controller-revision-hash"], revision);
  });
}

async function almostAll(world: World): Promise<void> {
  await world.patch(
    "grey",
    "json",
    [...imagePatch("nginx:1.22"), { op: "replace", path: "/spec/updateStrategy/partition", value: "99%" }],
    alpha,
  );
  await world.untilRow("grey 5 1 1 1 5 5");
  assert.deepEqual(await imagesOf(world), { "nginx:1.21": 4, "nginx:1.22": 1 });
}
