import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { imageOf, nameOf, onlyOf, restartsOf, uidOf } from "./items.ts";
import { imagePatch, replacePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "12",
  title: "CloneSet: update in portions with partition",
  needs: [],
  async run(world) {
    const grey = new CloneSet(world, "grey");
    const partition = (value: number | string) => grey.strategy({ partition: value }, "v1alpha1");
    await world.step("1 apply", async () => {
      await grey.start({
        replicas: 5,
        selector: { matchExpressions: [{ key: "case", operator: "In", values: ["grey", "gray"] }] },
        strategy: { policy: "InPlaceIfPossible", partition: 3, maxUnavailable: 2 },
      });
    });
    const before = await grey.livePods();
    await world.step("2 a portion of two", () => portionOfTwo(grey, before));
    await world.step("3 replacements keep their side", async () => {
      await replaceOne(grey, "nginx:1.20");
      await replaceOne(grey, "nginx:1.21");
    });
    await world.step("4 partition 1", async () => {
      const trail = await grey.trail();
      await partition(1);
      await grey.untilRow("5 4 4 4 5 5");
      assert.deepEqual(await imagesOf(grey), { "nginx:1.20": 1, "nginx:1.21": 4 });
      await trail.neverBelow(3);
    });
    await world.step("5 raising it rolls nothing back", async () => {
      const pods = (await grey.pods()).map(revisionOfPod);
      await partition(4);
      await world.stays(async () => {
        assert.equal(await grey.row(), "5 4 4 4 5 5");
        assert.deepEqual((await grey.pods()).map(revisionOfPod), pods);
      });
    });
    await world.step("6 partition 0", async () => {
      await partition(0);
      await grey.untilAll(5);
      const { currentRevision, updateRevision } = await grey.status();
      assert.equal(currentRevision, updateRevision);
    });
    await world.step("7 99% lets one through", async () => {
      const portion = replacePatch("/spec/updateStrategy/partition", "99%");
      await grey.patch("json", [...imagePatch("nginx:1.22"), ...portion], "v1alpha1");
      await grey.untilRow("5 1 1 1 5 5");
      assert.deepEqual(await imagesOf(grey), { "nginx:1.21": 4, "nginx:1.22": 1 });
    });
    await world.step("8 a bare number is no percentage", () =>
      world.refuses(422, () => partition("5"), "invalid type: string is not a percentage"),
    );
  },
};

function revisionOfPod(pod: Item): string {
  return `${uidOf(pod)} ${pod.metadata.labels?.["controller-revision-hash"]}`;
}

async function imagesOf(grey: CloneSet): Promise<Record<string, number>> {
  const groups = Map.groupBy(await grey.livePods(), (pod) => imageOf(pod) ?? "");
  return Object.fromEntries([...groups].map(([image, pods]) => [image, pods.length]));
}

async function portionOfTwo(grey: CloneSet, before: readonly Item[]): Promise<void> {
  await grey.toImage("nginx:1.21");
  await grey.world.until("two updated", async () => {
    assert.equal(await grey.row(), "5 2 2 2 5 5");
    const { expectedUpdatedReplicas, currentRevision, updateRevision } = await grey.status();
    assert.equal(expectedUpdatedReplicas, 2);
    assert.notEqual(currentRevision, updateRevision);
  });
  const pods = await grey.pods();
  assert.deepEqual(pods.map(uidOf), before.map(uidOf));
  for (const pod of pods) assert.equal(restartsOf(pod), imageOf(pod) === "nginx:1.21" ? 1 : 0);
  const counts = { "nginx:1.20": 3, "nginx:1.21": 2 };
  await grey.world.stays(async () => assert.deepEqual(await imagesOf(grey), counts), 10_000);
}

async function replaceOne(grey: CloneSet, image: string): Promise<void> {
  const before = await grey.livePods();
  const victim = before.find((pod) => imageOf(pod) === image);
  if (victim === undefined) throw new Error(`no pod has ${image}`);
  await grey.world.remove("pods", nameOf(victim));
  await grey.world.until(`another pod with ${image}`, async () => {
    assert.equal(await grey.row(), "5 2 2 2 5 5");
    const pods = await grey.pods();
    const fresh = onlyOf(pods.filter((pod) => !before.map(uidOf).includes(uidOf(pod))));
    assert.equal(imageOf(fresh), image);
    const [now, then] = [fresh, victim].map(({ metadata }) => metadata.labels?.["controller-revision-hash"]);
    assert.equal(now, then);
  });
}
