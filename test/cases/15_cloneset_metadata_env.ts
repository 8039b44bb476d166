import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { firstOf, imageOf, nameOf, statusOf, uidOf } from "./items.ts";
import { imagePatch, replacePatch, sleeper } from "./manifests.ts";
import type { Suite } from "./suite.ts";

const modePath = "/spec/template/metadata/annotations/case.example~1mode";
const colourPath = "/spec/template/metadata/labels/colour";
const fieldRef = { fieldPath: "metadata.annotations['case.example/mode']" };

export const suite: Suite = {
  number: "15",
  title: "CloneSet: metadata in place",
  needs: [],
  async run(world) {
    const meta = new CloneSet(world, "meta");
    let before: Item[] = [];
    await world.step("1 apply", async () => {
      before = await meta.start({
        replicas: 2,
        strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1 },
        templateMetadata: { labels: { colour: "blue" }, annotations: { "case.example/mode": "first" } },
        containers: [
          sleeper("app", "busybox:1.34", { env: [{ name: "MODE", valueFrom: { fieldRef } }] }),
          sleeper("helper", "busybox:1.34"),
        ],
      });
      await world.label(nameOf(firstOf(before)), { foreign: "1" });
    });
    await world.step("2 a label changes without a restart", async () => {
      await meta.patch("json", replacePatch(colourPath, "green"));
      await untilColours(meta, before, "green");
      await world.until("an event a pod", async () => {
        assert.equal((await meta.events("SuccessfulUpdatePodInPlace")).length, 2);
      });
    });
    await world.step("3 a label goes without a restart", async () => {
      await meta.patch("json", [{ op: "remove", path: colourPath }]);
      await untilColours(meta, before, undefined);
    });
    if (world.agents) await environmentSteps(meta, before);
    else world.skip("4 to 6", "environment from metadata needs the node agent on the nodes");
  },
};

async function untilColours(meta: CloneSet, before: readonly Item[], colour?: string): Promise<void> {
  await meta.world.until(`colour ${colour}`, async () => {
    const { updateRevision } = await meta.status();
    const labels = (await meta.pods()).map(({ metadata }) => metadata.labels);
    const seen = labels.map((each) => [each?.["colour"], each?.["controller-revision-hash"]]);
    assert.deepEqual(seen, Array(2).fill([colour, updateRevision]));
    await meta.assertAll(2);
  });
  const pods = await meta.pods();
  assert.deepEqual(pods.map(containersOf), before.map(containersOf));
  const marked = pods.find((pod) => uidOf(pod) === uidOf(firstOf(before)));
  assert.equal(marked?.metadata.labels?.["foreign"], "1");
}

async function environmentSteps(meta: CloneSet, before: readonly Item[]): Promise<void> {
  const { world } = meta;
  const checkRestarts = async (restarts: number, image: string) => {
    for (const pod of await meta.pods()) {
      const old = before.find((candidate) => uidOf(candidate) === uidOf(pod));
      assert.ok(old, "same pods");
      assert.equal(statusOf(pod, "app")?.restartCount, restarts);
      assert.equal(imageOf(pod), image);
      assert.equal(statusOf(pod, "helper")?.containerID, statusOf(old, "helper")?.containerID);
    }
  };
  const untilRestarts = (restarts: number, image: string) =>
    world.until(`${restarts} restart(s) of app`, async () => {
      await meta.assertAll(2);
      await checkRestarts(restarts, image);
    });
  await world.step("4 the environment follows the template", async () => {
    await meta.patch("json", replacePatch(modePath, "second"));
    await untilRestarts(1, "busybox:1.34");
  });
  await world.step("5 environment and image restart once", async () => {
    await meta.patch("json", [...replacePatch(modePath, "third"), ...imagePatch("busybox:1.35")]);
    await untilRestarts(2, "busybox:1.35");
  });
  await world.step("6 a hand's edit restarts nothing", async () => {
    await world.annotate(nameOf(firstOf(before)), { "case.example/mode": "fourth" });
    await world.stays(() => checkRestarts(2, "busybox:1.35"), 10_000);
  });
}

function containersOf(pod: Item): unknown[] {
  const statuses = pod.status?.containerStatuses ?? [];
  return [uidOf(pod), ...statuses.map(({ containerID, restartCount }) => `${containerID} ${restartCount}`)];
}
