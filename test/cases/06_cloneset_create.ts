import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { conditionOf, nameOf, phaseOf, restartsOf } from "./items.ts";
import type { Suite } from "./suite.ts";

const firstHash = "d4d4fb5bd";
const columns = "NAME DESIRED UPDATED UPDATED_READY UPDATED_AVAILABLE READY TOTAL AGE";

/** Bare on purpose: the defaulted template decides the revision's name. */
const spec = {
  replicas: 3,
  selector: { matchLabels: { app: "sample" } },
  template: {
    metadata: { labels: { app: "sample" } },
    spec: { containers: [{ name: "nginx", image: "nginx:alpine" }] },
  },
};

export const suite: Suite = {
  number: "06",
  title: "CloneSet: creation",
  needs: [],
  async run(world) {
    const sample = new CloneSet(world, "sample");
    await world.step("1 apply", async () => {
      await sample.apply(spec, { labels: { app: "sample" } });
      await sample.untilAll(3, { timeoutMs: 120_000 });
    });
    await world.step("2 columns", () => checkColumns(sample));
    await world.step("3 pods", () => checkPods(sample));
    await world.step("3 revision and status", () => checkRevision(sample));
    await world.step("4 events", () => checkEvents(sample));
    await world.step("5 to another image and back", () => thereAndBack(sample));
    await world.step("6 delete and release a pod", () => deleteAndRelease(sample));
    await world.step("7 garbage collection", async () => {
      await sample.remove();
      await world.until("only the stray pod stays", async () => {
        assert.equal((await world.revisions()).length, 0);
        assert.equal((await world.list("pods")).length, 1);
      });
    });
  },
};

async function checkColumns(sample: CloneSet): Promise<void> {
  assert.equal(await sample.columns(), columns);
  const wide = await sample.world.printed(sample.resource, true);
  assert.equal(wide.header.join(" "), `${columns} CONTAINERS IMAGES SELECTOR`);
  assert.deepEqual(wide.rows[0]?.slice(-3), ["nginx", "nginx:alpine", "app=sample"]);
}

async function checkPods(sample: CloneSet): Promise<void> {
  const { world } = sample;
  const clone = await sample.get();
  const pods = await sample.livePods();
  assert.equal(pods.length, 3);
  for (const pod of pods) checkPod(pod, clone);
  assert.equal((await world.list("replicasets")).length, 0);
  assert.equal((await world.claims()).length, 0);
}

function checkPod(pod: Item, clone: Item): void {
  const suffix = pod.metadata.name.slice("sample-".length);
  assert.match(pod.metadata.name, /^sample-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  assert.equal(restartsOf(pod), 0);
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

function ownerOf({ metadata: { name, uid } }: Item): object {
  const owner = { apiVersion: "apps.kruise.io/v1beta1", kind: "CloneSet", name, uid };
  return { ...owner, controller: true, blockOwnerDeletion: true };
}

async function checkRevision(sample: CloneSet): Promise<void> {
  const clone = await sample.get();
  assert.deepEqual(
    (await sample.world.revisions()).map(({ metadata, revision }) => [
      metadata.name,
      revision,
      metadata.ownerReferences,
    ]),
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

async function checkEvents(sample: CloneSet): Promise<void> {
  const created = (await sample.livePods()).map((pod) => `succeed to create pod ${nameOf(pod)}`);
  await sample.world.until("three creation events", async () => {
    const events = await sample.events("SuccessfulCreate");
    assert.deepEqual(
      events.map(({ type, message, source }) => [type, message, source]).sort(),
      created.map((message) => ["Normal", message, "cloneset-controller"]).sort(),
    );
  });
}

async function thereAndBack(sample: CloneSet): Promise<void> {
  const untilAt = (revision: string) =>
    sample.world.until(`revision ${revision}`, async () => {
      assert.equal((await sample.status()).updateRevision, revision);
      await sample.assertAll(3);
    });
  await sample.toImage("nginx:1.21");
  await untilAt("sample-76798454df");
  await sample.toImage("nginx:alpine");
  await untilAt(`sample-${firstHash}`);
  const revisions = await sample.world.revisions();
  assert.deepEqual(revisions.map(({ metadata, revision }) => `${metadata.name} ${revision}`).sort(), [
    "sample-76798454df 2",
    `sample-${firstHash} 3`,
  ]);
  assert.deepEqual(failureConditions(await sample.get()), []);
}

async function deleteAndRelease(sample: CloneSet): Promise<void> {
  const { world } = sample;
  const [deleted, released] = (await sample.livePods()).map(nameOf);
  if (deleted === undefined || released === undefined) throw new Error("three pods were expected");
  await world.remove("pods", deleted);
  await world.until("a pod of another name", async () => {
    const names = (await sample.livePods()).map(nameOf);
    assert.equal(names.length, 3);
    assert.ok(!names.includes(deleted));
  });
  await world.label(released, { app: null });
  // Until the controller has seen the label go, all three count as before.
  await world.until("it has no owner", async () => {
    const stray = await world.pod(released);
    assert.equal(stray.metadata.ownerReferences, undefined);
    assert.equal(phaseOf(stray), "Running");
  });
  await sample.untilAll(3);
}
