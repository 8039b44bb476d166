import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { cloneSet, container, imagePatch, sleeper } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { conditionOf, courseOf, extremesOf, type Moment } from "./trail.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "08",
  title: "CloneSet: image change in place, and the fall back",
  needs: [],
  async run(world) {
    await world.step("1 apply", async () => {
      await world.apply(
        cloneSet(world.version, {
          name: "inplace",
          replicas: 3,
          strategy: { policy: "InPlaceIfPossible" },
          containers: [container("web", "nginx:1.20"), sleeper("helper", "busybox:1.34")],
        }),
      );
      const pods = await world.untilAll("inplace", 3);
      for (const pod of pods) assert.equal(readyGates(pod), "2/2");
    });
    const before = await world.livePodsOf("inplace");
    const trail = await world.trail("pods", "case=inplace");
    await world.step("2 image in place, one at a time", async () => {
      await world.patch("inplace", "json", imagePatch("nginx:1.21"));
      await world.until("updated", async () => {
        const { status } = await world.get("inplace");
        assert.notEqual(status?.updateRevision, before[0]?.metadata.labels?.["controller-revision-hash"]);
        assert.equal(await world.row("inplace"), "inplace 3 3 3 3 3 3");
      });
      const moments = await trail.stop();
      for (const pod of before) checkCourse(moments, pod.metadata.name);
      const { leastAvailable, worst } = extremesOf(moments);
      assert.ok(leastAvailable >= 2, `available fell to ${leastAvailable}: ${worst}`);
    });
    await world.step("3 identity and state", () => checkUpdated(world, before));
    await world.step("3 events", () => checkEvents(world, before));
    await world.step("4 another change recreates", () => recreate(world, before));
    await world.step("5 strategic merge patch is refused", async () => {
      await world.refused(
        () =>
          world.patch("inplace", "strategic", { spec: { template: { metadata: { labels: { x: "y" } } } } }),
        415,
      );
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
    ({ object }) =>
      object.metadata.name === name && conditionOf(object, "InPlaceUpdateReady")?.status === "False",
  );
  assert.ok(stopped);
  assert.equal(conditionOf(stopped.object, "InPlaceUpdateReady")?.reason, "StartInPlaceUpdate");
  assert.equal(conditionOf(stopped.object, "Ready")?.status, "False");
}

async function checkUpdated(world: World, before: readonly Item[]): Promise<void> {
  const revision = (await world.get("inplace")).status?.updateRevision;
  const after = await world.podsOf("inplace");
  assert.deepEqual(after.map(identity), before.map(identity));
  for (const [index, pod] of after.entries()) {
    const old = before[index];
    const [helper, web] = statuses(pod);
    const [oldHelper, oldWeb] = statuses(old);
    assert.equal(pod.spec?.containers?.[0]?.image, "nginx:1.21");
    assert.notEqual(web?.containerID, oldWeb?.containerID);
    assert.equal(web?.restartCount, 1);
    assert.equal(helper?.containerID, oldHelper?.containerID);
    assert.equal(helper?.restartCount, 0);
    assert.equal(pod.metadata.labels?.["controller-revision-hash"], revision);
    checkState(pod, revision ?? "");
  }
}

function statuses(pod: Item | undefined): NonNullable<NonNullable<Item["status"]>["containerStatuses"]> {
  return [...(pod?.status?.containerStatuses ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function identity(pod: Item): (string | undefined)[] {
  return [pod.metadata.name, pod.metadata.uid, pod.spec?.nodeName, pod.status?.podIP];
}

function checkState(pod: Item, revision: string): void {
  const text = pod.metadata.annotations?.["apps.kruise.io/inplace-update-state"] ?? "";
  assert.ok(text.includes('"updateImages":true'), text);
  const state: { revision: string; containerBatchesRecord: { containers: string[] }[] } = JSON.parse(text);
  assert.equal(state.revision, revision);
  assert.deepEqual(
    state.containerBatchesRecord.map((batch) => batch.containers),
    [["web"]],
  );
}

async function checkEvents(world: World, before: readonly Item[]): Promise<void> {
  const revision = (await world.get("inplace")).status?.updateRevision;
  await world.until("one event a pod", async () => {
    const events = await world.events("CloneSet", "inplace");
    const updates = events.filter(({ reason }) => reason === "SuccessfulUpdatePodInPlace");
    assert.deepEqual(
      updates.map(({ type, message }) => [type, message]).sort(),
      before
        .map((pod) => [
          "Normal",
          `successfully update pod ${pod.metadata.name} in-place(revision ${revision})`,
        ])
        .sort(),
    );
    const created = events.filter(({ reason }) => reason === "SuccessfulCreate");
    assert.equal(created.length, 3);
    assert.ok(events.every(({ reason }) => reason !== "SuccessfulDelete"));
  });
}

async function recreate(world: World, before: readonly Item[]): Promise<void> {
  const trail = await world.trail("pods", "case=inplace");
  await world.patch("inplace", "json", [
    { op: "add", path: "/spec/template/spec/containers/0/env", value: [{ name: "A", value: "1" }] },
  ]);
  await world.until("all replaced", async () => {
    const pods = await world.podsOf("inplace");
    assert.equal(pods.length, 3);
    assert.ok(pods.every((pod) => !before.some((old) => old.metadata.name === pod.metadata.name)));
    assert.ok(pods.every((pod) => !before.some((old) => old.metadata.uid === pod.metadata.uid)));
    assert.equal(await world.row("inplace"), "inplace 3 3 3 3 3 3");
  });
  const { leastAvailable, worst } = extremesOf(await trail.stop());
  assert.ok(leastAvailable >= 2, `available fell to ${leastAvailable}: ${worst}`);
  await world.until("events of the replacement", async () => {
    const reasons = (await world.events("CloneSet", "inplace")).map(({ reason }) => reason);
    const count = (wanted: string) => reasons.filter((reason) => reason === wanted).length;
    assert.ok(count("SuccessfulUpdatePodReCreate") >= 3);
    assert.equal(count("SuccessfulDelete"), 3);
    assert.equal(count("SuccessfulCreate"), 6);
  });
}
