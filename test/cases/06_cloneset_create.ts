import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { conditionOf } from "./trail.ts";
import type { World } from "./world.ts";

const firstHash = "d4d4fb5bd";
const columns = "NAME DESIRED UPDATED UPDATED_READY UPDATED_AVAILABLE READY TOTAL AGE".split(" ");

/** Bare on purpose: the defaulted template decides the revision's name. */
function sample(version: string): object {
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "CloneSet",
    metadata: { name: "sample", labels: { app: "sample" } },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "sample" } },
      template: {
        metadata: { labels: { app: "sample" } },
        spec: { containers: [{ name: "nginx", image: "nginx:alpine" }] },
      },
    },
  };
}

export const suite: Suite = {
  number: "06",
  title: "CloneSet: creation",
  needs: [],
  async run(world) {
    await world.step("1 apply", async () => {
      await world.apply(sample(world.version));
      await world.untilAll("sample", 3, { timeoutMs: 120_000 });
    });
    await world.step("2 columns", () => checkColumns(world));
    await world.step("3 pods", () => checkPods(world));
    await world.step("3 revision and status", () => checkRevision(world));
    await world.step("4 events", () => checkEvents(world));
    await world.step("5 to another image and back", () => thereAndBack(world));
    await world.step("6 delete and release a pod", () => deleteAndRelease(world));
    await world.step("7 garbage collection", () => collect(world));
  },
};

async function checkColumns(world: World): Promise<void> {
  const plain = await world.printed(world.cloneSets);
  assert.deepEqual(plain.header, columns);
  const wide = await world.printed(world.cloneSets, true);
  assert.deepEqual(wide.header, [...columns, "CONTAINERS", "IMAGES", "SELECTOR"]);
  assert.deepEqual(wide.rows[0]?.slice(-3), ["nginx", "nginx:alpine", "app=sample"]);
}

async function checkPods(world: World): Promise<void> {
  const clone = await world.get("sample");
  const pods = await world.livePodsOf("sample");
  assert.equal(pods.length, 3);
  for (const pod of pods) checkPod(pod, clone);
  assert.equal((await world.list("replicasets")).length, 0);
  assert.equal((await world.list("persistentvolumeclaims")).length, 0);
}

function checkPod(pod: Item, clone: Item): void {
  const suffix = pod.metadata.name.slice("sample-".length);
  assert.match(pod.metadata.name, /^sample-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0);
  const gates = pod.spec?.readinessGates?.map((gate) => gate.conditionType).sort();
  assert.deepEqual(gates, ["InPlaceUpdateReady", "KruisePodReady"]);
  for (const gate of gates ?? []) assert.equal(conditionOf(pod, gate)?.status, "True", gate);
  assert.deepEqual(pod.metadata.labels, {
    app: "sample",
    "apps.kruise.io/cloneset-instance-id": suffix,
    "controller-revision-hash": `sample-${firstHash}`,
    "lifecycle.apps.kruise.io/state": "Normal",
    "pod-template-hash": firstHash,
  });
  assert.ok(pod.metadata.annotations?.["lifecycle.apps.kruise.io/timestamp"]);
  assert.deepEqual(pod.metadata.ownerReferences, [ownerOf(clone)]);
}

function ownerOf(clone: Item): object {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    name: clone.metadata.name,
    uid: clone.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

async function checkRevision(world: World): Promise<void> {
  const clone = await world.get("sample");
  const revisions = await world.list("controllerrevisions");
  assert.deepEqual(
    revisions.map(({ metadata, revision }) => [metadata.name, revision, metadata.ownerReferences]),
    [[`sample-${firstHash}`, 1, [ownerOf(clone)]]],
  );
  const { status } = clone;
  assert.equal(status?.currentRevision, `sample-${firstHash}`);
  assert.equal(status?.updateRevision, `sample-${firstHash}`);
  assert.equal(status?.labelSelector, "app=sample");
  assert.equal(status?.observedGeneration, clone.metadata.generation);
  assert.deepEqual(failureConditions(clone), []);
}

function failureConditions(clone: Item): string[] {
  const conditions = clone.status?.conditions ?? [];
  return conditions.filter(({ type, status }) => type.startsWith("Failed") && status === "True").map(String);
}

async function checkEvents(world: World): Promise<void> {
  const pods = await world.livePodsOf("sample");
  await world.until("three creation events", async () => {
    const events = await world.events("CloneSet", "sample", "SuccessfulCreate");
    assert.deepEqual(
      events.map(({ type, message, source }) => [type, message, source]).sort(),
      pods
        .map((pod) => ["Normal", `succeed to create pod ${pod.metadata.name}`, "cloneset-controller"])
        .sort(),
    );
  });
}

async function thereAndBack(world: World): Promise<void> {
  await world.patch("sample", "json", imagePatch("nginx:1.21"));
  await world.until("second revision", async () => {
    assert.equal((await world.get("sample")).status?.updateRevision, "sample-76798454df");
    assert.equal(await world.row("sample"), "sample 3 3 3 3 3 3");
  });
  await world.patch("sample", "json", imagePatch("nginx:alpine"));
  await world.until("first revision again", async () => {
    assert.equal((await world.get("sample")).status?.updateRevision, `sample-${firstHash}`);
    assert.equal(await world.row("sample"), "sample 3 3 3 3 3 3");
  });
  const revisions = await world.list("controllerrevisions");
  assert.deepEqual(revisions.map(({ metadata, revision }) => `${metadata.name} ${revision}`).sort(), [
    "sample-76798454df 2",
    `sample-${firstHash} 3`,
  ]);
  assert.deepEqual(failureConditions(await world.get("sample")), []);
}

async function deleteAndRelease(world: World): Promise<void> {
  const before = await world.livePodsOf("sample");
  const [deleted, released] = before.map((pod) => pod.metadata.name);
  if (deleted === undefined || released === undefined) throw new Error("three pods were expected");
  await world.remove("pods", deleted);
  await world.until("a pod of another name", async () => {
    const names = (await world.livePodsOf("sample")).map((pod) => pod.metadata.name);
    assert.equal(names.length, 3);
    assert.ok(!names.includes(deleted));
  });
  await world.patch(released, "json", [{ op: "remove", path: "/metadata/labels/app" }], "pods");
  // Until the controller has seen the label go, all three count as before.
  await world.until("it has no owner", async () => {
    const stray = await world.api.get("pods", released, world.namespace);
    assert.equal(stray.metadata.ownerReferences, undefined);
    assert.equal(stray.status?.phase, "Running");
  });
  await world.untilAll("sample", 3);
}

async function collect(world: World): Promise<void> {
  await world.remove(world.cloneSets, "sample");
  await world.until("only the stray pod stays", async () => {
    assert.equal((await world.list("controllerrevisions")).length, 0);
    assert.equal((await world.list("pods")).length, 1);
  });
}
