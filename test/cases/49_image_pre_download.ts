import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { imageOf, nameOf, nodeOf, records } from "./items.ts";
import { StatefulSet, webShape } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import type { Workload } from "./workload.ts";
import type { World } from "./world.ts";

const revision = "web-5b594bc4f8";
const created = "apps.kruise.io/pre-predownload-created";
const ignored = "apps.kruise.io/image-predownload-ignored";

export const suite: Suite = {
  number: "49",
  title: "Automatic pre-download before an update in place",
  needs: [],
  gates: "PreDownloadImageForInPlaceUpdate=true",
  versions: ["v1beta1"],
  async run(world) {
    const web = new StatefulSet(world, "web");
    await statefulSetSteps(web);
    await cloneSetSteps(world);
    await world.step("5 few replicas", async () => {
      await web.scale(3);
      await web.untilAll(3);
      await web.toImage("nginx:1.22");
      await web.untilAll(3);
      await assertIgnored(web);
    });
    await waitingSteps(world);
  },
};

async function statefulSetSteps(web: StatefulSet): Promise<void> {
  const { world } = web;
  const jobs = await world.trail("imagepulljobs");
  await world.step("1 one job for the changed container", async () => {
    const rollingUpdate = { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 1 };
    const readinessGates = [{ conditionType: "InPlaceUpdateReady" }];
    const annotations = { "apps.kruise.io/image-predownload-parallelism": "2" };
    await web.start({ ...webShape(rollingUpdate, { readinessGates }), metadata: { annotations } });
    await web.toImage("nginx:1.21");
    await world.until("the revision is marked", async () => {
      const { metadata } = await world.object("controllerrevisions", revision);
      assert.equal(metadata.labels?.[created], "true");
    });
  });
  await world.step("2 gone after the rollout", async () => {
    await web.untilAll(5);
    await world.until("the job is gone", async () => assert.deepEqual(await jobNames(world, "web-"), []));
    const seen = (await jobs.stop()).find(({ type }) => type === "ADDED")?.object;
    assert.equal(seen?.metadata.name, `${revision}-nginx`);
    assert.equal(seen?.metadata.ownerReferences?.[0]?.name, "web");
    const values = [revision, revision.slice("web-".length)];
    const { image, parallelism, podSelector, pullPolicy, completionPolicy } = Object(seen?.spec);
    assert.deepEqual([image, parallelism], ["nginx:1.21", 2]);
    assert.deepEqual(podSelector, {
      matchLabels: { app: "nginx" },
      matchExpressions: [{ key: "controller-revision-hash", operator: "NotIn", values }],
    });
    assert.deepEqual(pullPolicy, { backoffLimit: 1, timeoutSeconds: 300 });
    assert.deepEqual(completionPolicy, { type: "Always", ttlSecondsAfterFinished: 600 });
    await world.once("an event tells it", async () => {
      const messages = (await web.events("CreatedImagePullJob")).map(({ message }) => message);
      assert.deepEqual(messages, [`created ImagePullJob ${revision}-nginx for image: nginx:1.21`]);
    });
  });
}

async function cloneSetSteps(world: World): Promise<void> {
  await world.step("3 a CloneSet with a partition", async () => {
    const warm = new CloneSet(world, "warm");
    const inPlaceUpdateStrategy = { imagePreDownloadParallelism: 2 };
    const strategy = { policy: "InPlaceIfPossible", partition: 1, inPlaceUpdateStrategy } as const;
    await warm.start({ replicas: 5, strategy });
    await warm.toImage("nginx:1.21");
    await world.until("one pod is left", async () => {
      const { updatedReadyReplicas, updateRevision } = await warm.status();
      assert.equal(updatedReadyReplicas, 4);
      assert.deepEqual(await jobNames(world, "warm-"), [`${updateRevision}-nginx`]);
    });
    const [name = ""] = await jobNames(world, "warm-");
    assert.equal((await world.object("imagepulljobs", name)).spec?.["parallelism"], 2);
  });
  await world.step("4 no job where pods are recreated", async () => {
    const cold = new CloneSet(world, "cold");
    await cold.start({ replicas: 5 });
    await cold.toImage("nginx:1.21");
    await cold.untilUpdated(5, "nginx:1.21");
    await assertIgnored(cold);
  });
}

/** The latest revision is marked as one that needs no jobs, and there are none. */
async function assertIgnored(workload: Workload): Promise<void> {
  const { world, name } = workload;
  const { updateRevision = "" } = await workload.status();
  const { metadata } = await world.object("controllerrevisions", updateRevision);
  assert.equal(metadata.labels?.[ignored], "true");
  assert.deepEqual(await jobNames(world, `${name}-`), []);
}

/** Not in the case: pods that wait until their node has the image. */
async function waitingSteps(world: World): Promise<void> {
  const step = "6 no pod is updated before its node has the image";
  if (!world.agents) {
    world.skip(step, "needs agents");
    return;
  }
  await world.step(step, async () => {
    const patient = new CloneSet(world, "patient");
    const metadata = { annotations: { "refit.dev/wait-for-image": "true" } };
    const strategy = { policy: "InPlaceIfPossible", maxUnavailable: 2 } as const;
    await patient.start({ replicas: 5, strategy, metadata });
    await world.until("a NodeImage for each pod", async () => {
      for (const pod of await patient.livePods()) await world.api.get("nodeimages", nodeOf(pod) ?? "");
    });
    const nodes = await world.trail("nodeimages");
    const pods = await patient.trail();
    await patient.toImage("nginx:1.22");
    await patient.untilUpdated(5, "nginx:1.22");
    const moments = await pods.stop();
    const reports = (await nodes.stop()).filter(({ object }) => isPulled(object, "1.22"));
    const names = new Set(moments.map(({ object }) => object.metadata.name));
    assert.equal(names.size, 5);
    for (const name of names) {
      const updated = moments.find(
        ({ object }) => nameOf(object) === name && imageOf(object) === "nginx:1.22",
      );
      const node = updated?.object.spec?.nodeName;
      const pulled = reports.find(({ object }) => object.metadata.name === node);
      assert.ok(pulled !== undefined && updated !== undefined, `${node} reports the image for ${name}`);
      assert.ok(
        versionOf(pulled.object) < versionOf(updated.object),
        `${name} goes after ${node} has pulled`,
      );
    }
  });
}

/** Versions are those of one store: they tell the order of writes to any kinds. */
function versionOf({ metadata }: Item): number {
  return Number(metadata.resourceVersion);
}

/** A task that this suite's job asked for, done. */
function isPulled({ spec, status }: Item, tag: string): boolean {
  const images = Object.values(Object(status?.["imageStatuses"]));
  const tags = images.flatMap((image) => records(Object(image).tags));
  const isDone = tags.some((one) => one["tag"] === tag && one["phase"] === "Succeeded");
  return isDone && JSON.stringify(spec?.["images"] ?? {}).includes('"patient-');
}

async function jobNames(world: World, prefix: string): Promise<string[]> {
  const names = (await world.list("imagepulljobs")).map(nameOf);
  return names.filter((name) => name.startsWith(prefix));
}
