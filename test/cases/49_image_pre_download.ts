import assert from "node:assert/strict";
import { type Item, isRecord } from "../cluster/api.ts";
import { cloneSet, imagePatch } from "./manifests.ts";
import { Sets, webSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
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
    const sets = new Sets(world);
    await statefulSetSteps(world, sets);
    await cloneSetSteps(world);
    await world.step("5 few replicas", async () => {
      await sets.scale("web", 3);
      await sets.untilRow("web 3 3 3 3");
      await sets.toImage("web", "nginx:1.22");
      await sets.untilRow("web 3 3 3 3");
      const { status } = await sets.get("web");
      assert.equal((await revisionNamed(world, status?.updateRevision)).metadata.labels?.[ignored], "true");
      assert.deepEqual(await jobNames(world, "web-"), []);
    });
    await waitingSteps(world);
  },
};

async function statefulSetSteps(world: World, sets: Sets): Promise<void> {
  const jobs = await world.trail("imagepulljobs");
  await world.step("1 one job for the changed container", async () => {
    const rollingUpdate = { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 1 };
    const readinessGates = [{ conditionType: "InPlaceUpdateReady" }];
    const manifest = webSet(world.version, rollingUpdate, { readinessGates });
    const annotations = { "apps.kruise.io/image-predownload-parallelism": "2" };
    await world.apply({ ...manifest, metadata: { name: "web", annotations } });
    await sets.untilRow("web 5 5 5 5");
    await sets.toImage("web", "nginx:1.21");
    await world.until("the revision is marked", async () => {
      assert.equal((await revisionNamed(world, revision)).metadata.labels?.[created], "true");
    });
  });
  await world.step("2 gone after the rollout", async () => {
    await sets.untilRow("web 5 5 5 5");
    await world.until("the job is gone", async () => assert.deepEqual(await jobNames(world, "web-"), []));
    const [seen] = (await jobs.stop()).filter(({ type }) => type === "ADDED");
    assert.equal(seen?.object.metadata.name, `${revision}-nginx`);
    assert.equal(seen?.object.metadata.ownerReferences?.[0]?.name, "web");
    assert.deepEqual(seen?.object.spec?.["image"], "nginx:1.21");
    assert.equal(seen?.object.spec?.["parallelism"], 2);
    assert.deepEqual(seen?.object.spec?.["podSelector"], {
      matchLabels: { app: "nginx" },
      matchExpressions: [
        {
          key: "controller-revision-hash",
          operator: "NotIn",
          values: [revision, revision.slice("web-".length)],
        },
      ],
    });
    assert.deepEqual(seen?.object.spec?.["pullPolicy"], { backoffLimit: 1, timeoutSeconds: 300 });
    assert.deepEqual(seen?.object.spec?.["completionPolicy"], {
      type: "Always",
      ttlSecondsAfterFinished: 600,
    });
    await world.until(
      "an event tells it",
      async () => {
        const messages = (await sets.events("web", "CreatedImagePullJob")).map(({ message }) => message);
        assert.deepEqual(messages, [`created ImagePullJob ${revision}-nginx for image: nginx:1.21`]);
      },
      { stableMs: 0 },
    );
  });
}

async function cloneSetSteps(world: World): Promise<void> {
  await world.step("3 a CloneSet with a partition", async () => {
    const strategy = {
      policy: "InPlaceIfPossible" as const,
      partition: 1,
      inPlaceUpdateStrategy: { imagePreDownloadParallelism: 2 },
    };
    await world.apply(cloneSet(world.version, { name: "warm", replicas: 5, strategy }));
    await world.untilAll("warm", 5);
    await world.patch("warm", "json", imagePatch("nginx:1.21"));
    await world.until("one pod is left", async () => {
      assert.equal((await world.get("warm")).status?.updatedReadyReplicas, 4);
      const { status } = await world.get("warm");
      assert.deepEqual(await jobNames(world, "warm-"), [`${status?.updateRevision}-nginx`]);
    });
    const [job] = (await world.list("imagepulljobs")).filter(({ metadata }) =>
      metadata.name.startsWith("warm-"),
    );
    assert.equal(job?.spec?.["parallelism"], 2);
  });
  await world.step("4 no job where pods are recreated", async () => {
    await world.apply(cloneSet(world.version, { name: "cold", replicas: 5 }));
    await world.untilAll("cold", 5);
    await world.patch("cold", "json", imagePatch("nginx:1.21"));
    await world.untilAllUpdated("cold", 5, "nginx:1.21");
    const { status } = await world.get("cold");
    assert.equal((await revisionNamed(world, status?.updateRevision)).metadata.labels?.[ignored], "true");
    assert.deepEqual(await jobNames(world, "cold-"), []);
  });
}

/** Not in the case: pods that wait until their node has the image. */
async function waitingSteps(world: World): Promise<void> {
  const step = "6 no pod is updated before its node has the image";
  if (!world.agents) {
    world.skip(step, "needs agents");
    return;
  }
  await world.step(step, async () => {
    const strategy = { policy: "InPlaceIfPossible" as const, maxUnavailable: 2 };
    const metadata = { annotations: { "refit.dev/wait-for-image": "true" } };
    await world.apply(cloneSet(world.version, { name: "patient", replicas: 5, strategy, metadata }));
    await world.untilAll("patient", 5);
    await world.until("a NodeImage for each pod", async () => {
      for (const pod of await world.livePodsOf("patient")) {
        await world.api.get("nodeimages", pod.spec?.nodeName ?? "");
      }
    });
    const nodes = await world.trail("nodeimages");
    const pods = await world.trail("pods", "case=patient");
    await world.patch("patient", "json", imagePatch("nginx:1.22"));
    await world.untilAllUpdated("patient", 5, "nginx:1.22");
    const moments = await pods.stop();
    const reports = (await nodes.stop()).filter(({ object }) => isPulled(object, "1.22"));
    const names = new Set(moments.map(({ object }) => object.metadata.name));
    assert.equal(names.size, 5);
    for (const name of names) {
      const updated = moments.find(
        ({ object }) => object.metadata.name === name && runs(object, "nginx:1.22"),
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

function runs({ spec }: Item, image: string): boolean {
  return spec?.containers?.[0]?.image === image;
}

/** Versions are those of one store: they tell the order of writes to any kinds. */
function versionOf({ metadata }: Item): number {
  return Number(metadata.resourceVersion);
}

/** A task that this suite's job asked for, done. */
function isPulled({ spec, status }: Item, tag: string): boolean {
  const wanted = JSON.stringify(spec?.["images"] ?? {});
  const images = isRecord(status) && isRecord(status["imageStatuses"]) ? status["imageStatuses"] : {};
  const isDone = (one: unknown) => isRecord(one) && one["tag"] === tag && one["phase"] === "Succeeded";
  return (
    wanted.includes('"patient-') &&
    Object.values(images).some(
      (image) => isRecord(image) && Array.isArray(image["tags"]) && image["tags"].some(isDone),
    )
  );
}

function revisionNamed(world: World, name: string | undefined): Promise<Item> {
  return world.api.get("controllerrevisions", name ?? "", world.namespace);
}

async function jobNames(world: World, prefix: string): Promise<string[]> {
  const names = (await world.list("imagepulljobs")).map(({ metadata }) => metadata.name);
  return names.filter((name) => name.startsWith(prefix));
}
