import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { conditionOf, firstOf, imageOf, nameOf, onlyOf, uidOf } from "./items.ts";
import type { Suite } from "./suite.ts";
import { courseOf } from "./trail.ts";
import type { World } from "./world.ts";

const hook = "case.example/hook";
const stateLabel = "lifecycle.apps.kruise.io/state";

export const suite: Suite = {
  number: "c10",
  title: "CloneSet: lifecycle hooks",
  needs: [],
  async run(world) {
    const held = new CloneSet(world, "before-delete");
    await world.step("preDelete holds a named pod", () => preDelete(held));
    await world.step("more replicas call it back", () => cancelDeletion(held));
    await world.step("held pods do not count where that is asked for", () => notCounted(world));
    await world.step("preNormal keeps a Ready pod unavailable", () => preNormal(world));
    await world.step("inPlaceUpdate waits before and after", () => inPlaceUpdate(world));
    await world.step("markPodNotReady", () => notReady(world));
    await world.step("an unschedulable pod stays PreparingNormal", () => unschedulable(world));
  },
};

/** Pods that carry the hook's label from the start, and a hook that waits for it to go. */
function hooked(when: "preDelete" | "inPlaceUpdate", more: object = {}) {
  return {
    templateMetadata: { labels: { [hook]: "true" } },
    more: { lifecycle: { [when]: { labelsHandler: { [hook]: "true" }, ...more } } },
  };
}

function stateOf(pod: Item | undefined): string | undefined {
  return pod?.metadata.labels?.[stateLabel];
}

async function find(world: World, pod: Item): Promise<Item | undefined> {
  const found = await world.find("pods", nameOf(pod));
  return found !== undefined && uidOf(found) === uidOf(pod) ? found : undefined;
}

async function preDelete(held: CloneSet): Promise<void> {
  const { world } = held;
  const before = await held.start({ replicas: 3, ...hooked("preDelete") });
  const victim = firstOf(before);
  await world.label(nameOf(victim), { "apps.kruise.io/specified-delete": "true" });
  await world.until("held", async () => assert.equal(stateOf(await find(world, victim)), "PreparingDelete"));
  await world.stays(async () => {
    assert.equal((await held.status()).replicas, 3);
    assert.equal((await held.pods()).length, 3);
  }, 5_000);
  await world.label(nameOf(victim), { [hook]: null });
  await world.until("replaced", async () => {
    const uids = (await held.pods()).map(uidOf);
    assert.equal(uids.length, 3);
    assert.equal(await find(world, victim), undefined);
    assert.equal(before.filter((old) => uids.includes(uidOf(old))).length, 2);
    await held.assertAll(3);
  });
}

async function cancelDeletion(held: CloneSet): Promise<void> {
  const { world } = held;
  const before = await held.livePods();
  await held.scale(2);
  await world.until("one is doomed", async () => {
    const states = (await held.pods()).map(stateOf).sort();
    assert.deepEqual(states, ["Normal", "Normal", "PreparingDelete"]);
  });
  await held.scale(3);
  await world.until("called back", async () => {
    const pods = await held.pods();
    assert.deepEqual(pods.map(uidOf), before.map(uidOf));
    assert.deepEqual(pods.map(stateOf), Array(3).fill("Normal"));
    await held.assertAll(3);
  });
}

/** v1alpha1 asks with a label, v1beta1 with a field. */
async function notCounted(world: World): Promise<void> {
  const uncounted = new CloneSet(world, "uncounted");
  const labels = { "apps.kruise.io/cloneset-scaling-exclude-preparing-delete": "true" };
  const asked =
    world.version === "v1alpha1"
      ? { metadata: { labels } }
      : { scaleStrategy: { excludePreparingDelete: true } };
  const pods = await uncounted.start({ replicas: 3, ...asked, ...hooked("preDelete") });
  const [victim, others] = [firstOf(pods), pods.slice(1)];
  const untilHeldAmong = (replicas: number) =>
    world.until(`held, ${replicas} pods in all`, async () => {
      assert.equal(stateOf(await find(world, victim)), "PreparingDelete");
      assert.equal((await uncounted.status()).replicas, replicas);
    });
  await uncounted.mergeSpec({ replicas: 2, scaleStrategy: { podsToDelete: [nameOf(victim)] } });
  await untilHeldAmong(3);
  await uncounted.scale(3);
  await untilHeldAmong(4);
  await world.label(nameOf(victim), { [hook]: null });
  await world.until("three stay", async () => {
    const uids = (await uncounted.pods()).map(uidOf);
    assert.equal(uids.length, 3);
    assert.ok(others.every((pod) => uids.includes(uidOf(pod))));
    await uncounted.assertAll(3);
  });
  // What is not counted comes back all the same when it is wanted again.
  await cancelDeletion(uncounted);
}

async function preNormal(world: World): Promise<void> {
  const clone = new CloneSet(world, "before-normal");
  const progressDeadlineSeconds = world.seconds(11, 3);
  const lifecycle = { preNormal: { finalizersHandler: [hook] } };
  await clone.create({ more: { progressDeadlineSeconds, lifecycle } });
  await world.until("Ready, but not available until the deadline", async () => {
    const pod = firstOf(await clone.pods());
    assert.equal(conditionOf(pod, "Ready")?.status, "True");
    assert.equal(stateOf(pod), "PreparingNormal");
    const { readyReplicas, availableReplicas, updateRevision } = await clone.status();
    assert.equal(readyReplicas, 1);
    assert.equal(availableReplicas, 0);
    const progressing = await clone.condition("Progressing");
    assert.deepEqual([progressing?.status, progressing?.reason], ["False", "ProgressDeadlineExceeded"]);
    assert.equal(progressing?.message, `CloneSet revision ${updateRevision} has timed out progressing`);
  });
  const name = nameOf(firstOf(await clone.pods()));
  await world.patch("pods", name, "merge", { metadata: { finalizers: [hook] } });
  await world.until("Normal", async () => {
    assert.equal(stateOf(firstOf(await clone.pods())), "Normal");
    assert.equal((await clone.status()).availableReplicas, 1);
  });
  await world.patch("pods", name, "merge", { metadata: { finalizers: null } });
}

async function inPlaceUpdate(world: World): Promise<void> {
  const clone = new CloneSet(world, "around-update");
  const strategy = { policy: "InPlaceIfPossible", maxUnavailable: 1 } as const;
  const pod = onlyOf(await clone.start({ strategy, ...hooked("inPlaceUpdate") }));
  const trail = await clone.trail();
  await clone.toImage("nginx:1.21");
  await world.until("asked before", async () => {
    assert.equal(stateOf(await find(world, pod)), "PreparingUpdate");
  });
  await world.stays(async () => assert.equal(imageOf(await find(world, pod)), "nginx:1.20"), 3_000);
  await world.label(nameOf(pod), { [hook]: null });
  await world.until("waits after", async () => {
    const now = await find(world, pod);
    assert.equal(stateOf(now), "Updated");
    assert.equal(imageOf(now), "nginx:1.21");
  });
  await world.label(nameOf(pod), { [hook]: "true" });
  await clone.untilAll(1);
  const course = courseOf(await trail.stop(), nameOf(pod), stateOf);
  assert.deepEqual(course, ["Normal", "PreparingUpdate", "Updating", "Updated", "Normal"]);
}

async function notReady(world: World): Promise<void> {
  const drained = new CloneSet(world, "drained");
  await drained.start({ replicas: 2, ...hooked("preDelete", { markPodNotReady: true }) });
  await drained.scale(1);
  const victim = async () =>
    onlyOf((await drained.pods()).filter((pod) => stateOf(pod) === "PreparingDelete"));
  await world.until("held and not Ready", async () => {
    const pod = await victim();
    const condition = conditionOf(pod, "KruisePodReady");
    assert.equal(condition?.status, "False");
    assert.equal(condition?.message, '[{"userAgent":"Lifecycle","key":"preDeleteHook"}]');
    assert.equal(conditionOf(pod, "Ready")?.status, "False");
    assert.equal(conditionOf(pod, "ContainersReady")?.status, "True");
  });
  await world.label(nameOf(await victim()), { [hook]: null });
  await drained.untilAll(1);
}

async function unschedulable(world: World): Promise<void> {
  const nowhere = new CloneSet(world, "nowhere");
  await nowhere.create({
    podSpec: { schedulerName: "case-no-such-scheduler" },
    more: { progressDeadlineSeconds: 600 },
  });
  await world.until("waiting for a node", async () => {
    assert.deepEqual((await nowhere.pods()).map(stateOf), ["PreparingNormal"]);
    assert.equal((await nowhere.condition("Progressing"))?.reason, "CloneSetUpdated");
  });
  await nowhere.mergeSpec({ template: { spec: { schedulerName: "default-scheduler" } } });
  await world.until("scheduled", async () => {
    assert.deepEqual((await nowhere.pods()).map(stateOf), ["Normal"]);
    assert.equal((await nowhere.condition("Progressing"))?.reason, "CloneSetAvailable");
    await nowhere.assertAll(1);
  });
}
