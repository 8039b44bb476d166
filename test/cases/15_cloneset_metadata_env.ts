import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { cloneSet, imagePatch, sleeper } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "15",
  title: "CloneSet: metadata in place",
  needs: [],
  async run(world) {
    let before: Item[] = [];
    await world.step("1 apply", async () => {
      await world.apply(
        cloneSet(world.version, {
          name: "meta",
          replicas: 2,
          strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1 },
          templateMetadata: { labels: { colour: "blue" }, annotations: { "case.example/mode": "first" } },
          containers: [
            sleeper("app", "busybox:1.34", {
              env: [
                {
                  name: "MODE",
                  valueFrom: { fieldRef: { fieldPath: "metadata.annotations['case.example/mode']" } },
                },
              ],
            }),
            sleeper("helper", "busybox:1.34"),
          ],
        }),
      );
      before = await world.untilAll("meta", 2);
      const foreign = { metadata: { labels: { foreign: "1" } } };
      await world.patch(before[0]?.metadata.name ?? "", "merge", foreign, "pods");
    });
    await world.step("2 a label changes without a restart", async () => {
      await world.patch("meta", "json", [
        { op: "replace", path: "/spec/template/metadata/labels/colour", value: "green" },
      ]);
      await untilColours(world, before, "green");
      await world.until("an event a pod", async () => {
        assert.equal((await world.events("CloneSet", "meta", "SuccessfulUpdatePodInPlace")).length, 2);
      });
    });
    await world.step("3 a label goes without a restart", async () => {
      await world.patch("meta", "json", [{ op: "remove", path: "/spec/template/metadata/labels/colour" }]);
      await untilColours(world, before, undefined);
    });
    if (world.agents) await environmentSteps(world, before);
    else world.skip("4 to 6", "environment from metadata needs the node agent on the nodes");
  },
};

async function untilColours(
  world: World,
  before: readonly Item[],
  colour: string | undefined,
): Promise<void> {
  await world.until(`colour ${colour}`, async () => {
    const { status } = await world.get("meta");
    const pods = await world.podsOf("meta");
    assert.deepEqual(
      pods.map((pod) => pod.metadata.labels?.["colour"]),
      [colour, colour],
    );
    assert.deepEqual(
      pods.map((pod) => pod.metadata.labels?.["controller-revision-hash"]),
      [status?.updateRevision, status?.updateRevision],
    );
    assert.equal(await world.row("meta"), "meta 2 2 2 2 2 2");
  });
  const pods = await world.podsOf("meta");
  assert.deepEqual(pods.map(containersOf), before.map(containersOf));
  const marked = pods.find((pod) => pod.metadata.uid === before[0]?.metadata.uid);
  assert.equal(marked?.metadata.labels?.["foreign"], "1");
}

async function environmentSteps(world: World, before: readonly Item[]): Promise<void> {
  const annotation = "/spec/template/metadata/annotations/case.example~1mode";
  await world.step("4 the environment follows the template", async () => {
    await world.patch("meta", "json", [{ op: "replace", path: annotation, value: "second" }]);
    await untilRestarts(world, before, 1, "busybox:1.34");
  });
  await world.step("5 environment and image restart once", async () => {
    await world.patch("meta", "json", [
      { op: "replace", path: annotation, value: "third" },
      ...imagePatch("busybox:1.35"),
    ]);
    await untilRestarts(world, before, 2, "busybox:1.35");
  });
  await world.step("6 a hand's edit restarts nothing", async () => {
    const annotations = { metadata: { annotations: { "case.example/mode": "fourth" } } };
    await world.patch(before[0]?.metadata.name ?? "", "merge", annotations, "pods");
    await world.stays(() => checkRestarts(world, before, 2, "busybox:1.35"), 10_000);
  });
}

async function untilRestarts(
  world: World,
  before: readonly Item[],
  restarts: number,
  image: string,
): Promise<void> {
  await world.until(`${restarts} restart(s) of app`, async () => {
    assert.equal(await world.row("meta"), "meta 2 2 2 2 2 2");
    await checkRestarts(world, before, restarts, image);
  });
}

async function checkRestarts(
  world: World,
  before: readonly Item[],
  restarts: number,
  image: string,
): Promise<void> {
  for (const pod of await world.podsOf("meta")) {
    const old = before.find((candidate) => candidate.metadata.uid === pod.metadata.uid);
    assert.ok(old, "same pods");
    const status = (of: Item, name: string) =>
      of.status?.containerStatuses?.find((entry) => entry.name === name);
    assert.equal(status(pod, "app")?.restartCount, restarts);
    assert.equal(pod.spec?.containers?.[0]?.image, image);
    assert.equal(status(pod, "helper")?.containerID, status(old, "helper")?.containerID);
  }
}

function containersOf(pod: Item): unknown[] {
  const statuses = pod.status?.containerStatuses ?? [];
  return [
    pod.metadata.uid,
    ...statuses.map(({ containerID, restartCount }) => `${containerID} ${restartCount}`),
  ];
}
