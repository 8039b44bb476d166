import assert from "node:assert/strict";
import type { ContainerStatus, Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { assertAllNew, conditionOf, identityOf, imageOf, nameOf, statusOf } from "./items.ts";
import { container, environmentPatch, sleeper } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { courseOf, type Moment } from "./trail.ts";

export const suite: Suite = {
  number: "08",
  title: "CloneSet: image change in place, and the fall back",
  needs: [],
  async run(world) {
    const clone = new CloneSet(world, "inplace");
    await world.step("1 apply", async () => {
      const pods = await clone.start({
        replicas: 3,
        strategy: { policy: "InPlaceIfPossible" },
        containers: [container("web", "nginx:1.20"), sleeper("helper", "busybox:1.34")],
      });
      for (const pod of pods) assert.equal(readyGates(pod), "2/2");
    });
    const before = await clone.livePods();
    const trail = await clone.trail();
    await world.step("2 image in place, one at a time", async () => {
      await clone.toImage("nginx:1.21");
      await world.until("updated", async () => {
        const { updateRevision } = await clone.status();
        assert.notEqual(updateRevision, before[0]?.metadata.labels?.["controller-revision-hash"]);
        await clone.assertAll(3);
      });
      const moments = await trail.neverBelow(2);
      for (const pod of before) checkCourse(moments, nameOf(pod));
    });
    await world.step("3 identity and state", () => checkUpdated(clone, before));
    await world.step("3 events", () => checkEvents(clone, before));
    await world.step("4 another change recreates", () => recreate(clone, before));
    await world.step("5 strategic merge patch is refused", async () => {
      const body = { spec: { template: { metadata: { labels: { x: "y" } } } } };
      await world.refused(() => clone.patch("strategic", body), 415);
    });
  },
};

function readyGates(pod: Item): string {
  const gates = pod.spec?.readinessGates ?? [];
  const ready = gates.filter((gate) => conditionOf(pod, gate.conditionType)?.status === "True");
  return `${ready.length}/${gates.length}`;
}

function checkCourse(moments: readonly Moment[], name: string): void {
  assert.deepEqual(courseOf(moments, name, readyGates), ["2/2", "1/2", "2/2"]);
  const states = courseOf(moments, name, (pod) => pod.metadata.labels?.["lifecycle.apps.kruise.io/state"]);
  assert.deepEqual(states, ["Normal", "Updating", "Normal"]);
  const stopped = moments.find(
    ({ object }) => nameOf(object) === name && conditionOf(object, "InPlaceUpdateReady")?.status === "False",
  )?.object;
  assert.equal(conditionOf(stopped, "InPlaceUpdateReady")?.reason, "StartInPlaceUpdate");
  assert.equal(conditionOf(stopped, "Ready")?.status, "False");
}

async function checkUpdated(clone: CloneSet, before: readonly Item[]): Promise<void> {
  const { updateRevision } = await clone.status();
  const after = await clone.pods();
  assert.deepEqual(after.map(identityOf), before.map(identityOf));
  for (const [index, pod] of after.entries()) {
    const changes = (container: string) =>
      changeOf(statusOf(before[index], container), statusOf(pod, container));
    assert.equal(imageOf(pod), "nginx:1.21");
    assert.equal(changes("web"), "another container, 1 restarts");
    assert.equal(changes("helper"), "the same container, 0 restarts");
    assert.equal(pod.metadata.labels?.["controller-revision-hash"], updateRevision);
    checkState(pod, updateRevision ?? "");
  }
}

function changeOf(before: ContainerStatus | undefined, after: ContainerStatus | undefined): string {
  const which = before?.containerID === after?.containerID ? "the same" : "another";
  return `${which} container, ${after?.restartCount} restarts`;
}

function checkState(pod: Item, revision: string): void {
  const text = pod.metadata.annotations?.["apps.kruise.io/inplace-update-state"] ?? "";
  assert.ok(text.includes('"updateImages":true'), text);
  const state: { revision: string; containerBatchesRecord: { containers: string[] }[] } = JSON.parse(text);
  assert.equal(state.revision, revision);
  const batches = state.containerBatchesRecord.map((batch) => batch.containers);
  assert.deepEqual(batches, [["web"]]);
}

async function checkEvents(clone: CloneSet, before: readonly Item[]): Promise<void> {
  const { updateRevision } = await clone.status();
  const message = (pod: Item) =>
    `successfully update pod ${nameOf(pod)} in-place(revision ${updateRevision})`;
  await clone.world.until("one event a pod", async () => {
    const events = await clone.events();
    const updates = events.filter(({ reason }) => reason === "SuccessfulUpdatePodInPlace");
    assert.deepEqual(updates.map((event) => event.message).sort(), before.map(message).sort());
    assert.ok(updates.every(({ type }) => type === "Normal"));
    assert.equal(events.filter(({ reason }) => reason === "SuccessfulCreate").length, 3);
    assert.ok(events.every(({ reason }) => reason !== "SuccessfulDelete"));
  });
}

async function recreate(clone: CloneSet, before: readonly Item[]): Promise<void> {
  const { world } = clone;
  const trail = await clone.trail();
  await clone.patch("json", environmentPatch());
  await world.until("all replaced", async () => {
    const pods = await clone.pods();
    assert.equal(pods.length, 3);
    assertAllNew(pods, before);
    assert.ok(
      pods.every((pod) => !before.map(nameOf).includes(nameOf(pod))),
      "other names",
    );
    await clone.assertAll(3);
  });
  await trail.neverBelow(2);
  await world.until("events of the replacement", async () => {
    const count = async (reason: string) => (await clone.events(reason)).length;
    assert.ok((await count("SuccessfulUpdatePodReCreate")) >= 3);
    assert.equal(await count("SuccessfulDelete"), 3);
    assert.equal(await count("SuccessfulCreate"), 6);
  });
}
