import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { cloneSet, imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { conditionOf, courseOf } from "./trail.ts";
import type { World } from "./world.ts";

const hook = "case.example/hook";
const stateLabel = "lifecycle.apps.kruise.io/state";

export const suite: Suite = {
  number: "c10",
  title: "CloneSet: lifecycle hooks",
  needs: [],
  async run(world) {
    await world.step("preDelete holds a named pod", () => preDelete(world));
    await world.step("more replicas call it back", () => cancelDeletion(world));
    await world.step("held pods do not count where that is asked for", () => notCounted(world));
    await world.step("preNormal keeps a Ready pod unavailable", () => preNormal(world));
    await world.step("inPlaceUpdate waits before and after", () => inPlaceUpdate(world));
    await world.step("markPodNotReady", () => notReady(world));
    await world.step("an unschedulable pod stays PreparingNormal", () => unschedulable(world));
  },
};

function stateOf(pod: Item | undefined): string | undefined {
  return pod?.metadata.labels?.[stateLabel];
}

async function find(world: World, pod: Item): Promise<Item | undefined> {
  const found = await world.api.find("pods", pod.metadata.name, world.namespace);
  return found?.metadata.uid === pod.metadata.uid ? found : undefined;
}

async function label(world: World, pod: Item, value: string | null): Promise<void> {
  await world.patch(pod.metadata.name, "merge", { metadata: { labels: { [hook]: value } } }, "pods");
}

async function preDelete(world: World): Promise<void> {
  await world.apply(
    cloneSet(world.version, {
      name: "before-delete",
      replicas: 3,
      templateMetadata: { labels: { [hook]: "true" } },
      more: { lifecycle: { preDelete: { labelsHandler: { [hook]: "true" } } } },
    }),
  );
  const before = await world.untilAll("before-delete", 3);
  const [victim] = before;
  if (victim === undefined) throw new Error("no pod");
  const labels = { metadata: { labels: { "apps.kruise.io/specified-delete": "true" } } };
  await world.patch(victim.metadata.name, "merge", labels, "pods");
  await world.until("held", async () => assert.equal(stateOf(await find(world, victim)), "PreparingDelete"));
  await world.stays(async () => {
    assert.equal((await world.get("before-delete")).status?.replicas, 3);
    assert.equal((await world.podsOf("before-delete")).length, 3);
  }, 5_000);
  await label(world, victim, null);
  await world.until("replaced", async () => {
    const pods = await world.podsOf("before-delete");
    assert.equal(pods.length, 3);
    assert.equal(await find(world, victim), undefined);
    const kept = before.filter((old) => pods.some((pod) => pod.metadata.uid === old.metadata.uid));
    assert.equal(kept.length, 2);
    assert.equal(await world.row("before-delete"), "before-delete 3 3 3 3 3 3");
  });
}

async function cancelDeletion(world: World, name = "before-delete"): Promise<void> {
  const before = await world.livePodsOf(name);
  await world.scale(name, 2);
  await world.until("one is doomed", async () => {
    const states = (await world.podsOf(name)).map(stateOf).sort();
    assert.deepEqual(states, ["Normal", "Normal", "PreparingDelete"]);
  });
  await world.scale(name, 3);
  await world.until("called back", async () => {
    const pods = await world.podsOf(name);
    assert.deepEqual(
      pods.map((pod) => [pod.metadata.uid, stateOf(pod)]),
      before.map((pod) => [pod.metadata.uid, "Normal"]),
    );
    assert.equal(await world.row(name), `${name} 3 3 3 3 3 3`);
  });
}

/** v1alpha1 asks with a label, v1beta1 with a field. */
async function notCounted(world: World): Promise<void> {
  const alpha = world.version === "v1alpha1";
  const labels = { "apps.kruise.io/cloneset-scaling-exclude-preparing-delete": "true" };
  await world.apply(
    cloneSet(world.version, {
      name: "uncounted",
      replicas: 3,
      ...(alpha ? { metadata: { labels } } : { scaleStrategy: { excludePreparingDelete: true } }),
      templateMetadata: { labels: { [hook]: "true" } },
      more: { lifecycle: { preDelete: { labelsHandler: { [hook]: "true" } } } },
    }),
  );
  const [victim, ...others] = await world.untilAll("uncounted", 3);
  if (victim === undefined) throw new Error("no pod");
  const podsToDelete = [victim.metadata.name];
  await world.patch("uncounted", "merge", { spec: { replicas: 2, scaleStrategy: { podsToDelete } } });
  await world.until("held", async () => {
    assert.equal(stateOf(await find(world, victim)), "PreparingDelete");
    assert.equal((await world.get("uncounted")).status?.replicas, 3);
  });
  await world.scale("uncounted", 3);
  await world.until("one more beside it", async () => {
    assert.equal(stateOf(await find(world, victim)), "PreparingDelete");
    assert.equal((await world.get("uncounted")).status?.replicas, 4);
  });
  await label(world, victim, null);
  await world.until("three stay", async () => {
    const uids = (await world.podsOf("uncounted")).map(({ metadata }) => metadata.uid);
    assert.equal(uids.length, 3);
    assert.ok(others.every(({ metadata }) => uids.includes(metadata.uid)));
    assert.equal(await world.row("uncounted"), "uncounted 3 3 3 3 3 3");
  });
  // What is not counted comes back all the same when it is wanted again.
  await cancelDeletion(world, "uncounted");
}

async function preNormal(world: World): Promise<void> {
  const deadline = world.seconds(11, 3);
  await world.apply(
    cloneSet(world.version, {
      name: "before-normal",
      more: {
        progressDeadlineSeconds: deadline,
        lifecycle: { preNormal: { finalizersHandler: [hook] } },
      },
    }),
  );
  await world.until("Ready, but not available until the deadline", async () => {
    const clone = await world.get("before-normal");
    const [pod] = await world.podsOf("before-normal");
    assert.equal(pod === undefined ? "" : conditionOf(pod, "Ready")?.status, "True");
    assert.equal(stateOf(pod), "PreparingNormal");
    assert.equal(clone.status?.readyReplicas, 1);
    assert.equal(clone.status?.availableReplicas, 0);
    const progressing = conditionOf(clone, "Progressing");
    assert.deepEqual([progressing?.status, progressing?.reason], ["False", "ProgressDeadlineExceeded"]);
    const message = `CloneSet revision ${clone.status?.updateRevision} has timed out progressing`;
    assert.equal(progressing?.message, message);
  });
  const [pod] = await world.podsOf("before-normal");
  await world.patch(pod?.metadata.name ?? "", "merge", { metadata: { finalizers: [hook] } }, "pods");
  await world.until("Normal", async () => {
    assert.equal(stateOf((await world.podsOf("before-normal"))[0]), "Normal");
    assert.equal((await world.get("before-normal")).status?.availableReplicas, 1);
  });
  await world.patch(pod?.metadata.name ?? "", "merge", { metadata: { finalizers: null } }, "pods");
}

async function inPlaceUpdate(world: World): Promise<void> {
  await world.apply(
    cloneSet(world.version, {
      name: "around-update",
      templateMetadata: { labels: { [hook]: "true" } },
      strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1 },
      more: { lifecycle: { inPlaceUpdate: { labelsHandler: { [hook]: "true" } } } },
    }),
  );
  const [pod] = await world.untilAll("around-update", 1);
  if (pod === undefined) throw new Error("no pod");
  const trail = await world.trail("pods", "case=around-update");
  await world.patch("around-update", "json", imagePatch("nginx:1.21"));
  await world.until("asked before", async () => {
    assert.equal(stateOf(await find(world, pod)), "PreparingUpdate");
  });
  await world.stays(async () => {
    assert.equal((await find(world, pod))?.spec?.containers?.[0]?.image, "nginx:1.20");
  }, 3_000);
  await label(world, pod, null);
  await world.until("waits after", async () => {
    const now = await find(world, pod);
    assert.equal(stateOf(now), "Updated");
    assert.equal(now?.spec?.containers?.[0]?.image, "nginx:1.21");
  });
  await label(world, pod, "true");
  await world.untilAll("around-update", 1);
  const course = courseOf(await trail.stop(), pod.metadata.name, stateOf);
  assert.deepEqual(course, ["Normal", "PreparingUpdate", "Updating", "Updated", "Normal"]);
}

async function notReady(world: World): Promise<void> {
  await world.apply(
    cloneSet(world.version, {
      name: "drained",
      replicas: 2,
      templateMetadata: { labels: { [hook]: "true" } },
      more: { lifecycle: { preDelete: { labelsHandler: { [hook]: "true" }, markPodNotReady: true } } },
    }),
  );
  await world.untilAll("drained", 2);
  await world.scale("drained", 1);
  let victim: Item | undefined;
  await world.until("held and not Ready", async () => {
    victim = (await world.podsOf("drained")).find((pod) => stateOf(pod) === "PreparingDelete");
    assert.ok(victim);
    const condition = conditionOf(victim, "KruisePodReady");
    assert.equal(condition?.status, "False");
    assert.equal(condition?.message, '[{"userAgent":"Lifecycle","key":"preDeleteHook"}]');
    assert.equal(conditionOf(victim, "Ready")?.status, "False");
    assert.equal(conditionOf(victim, "ContainersReady")?.status, "True");
  });
  if (victim === undefined) throw new Error("no pod is held");
  await label(world, victim, null);
  await world.untilAll("drained", 1);
}

async function unschedulable(world: World): Promise<void> {
  await world.apply(
    cloneSet(world.version, {
      name: "nowhere",
      podSpec: { schedulerName: "case-no-such-scheduler" },
      more: { progressDeadlineSeconds: 600 },
    }),
  );
  await world.until("waiting for a node", async () => {
    assert.deepEqual((await world.podsOf("nowhere")).map(stateOf), ["PreparingNormal"]);
    assert.equal(conditionOf(await world.get("nowhere"), "Progressing")?.reason, "CloneSetUpdated");
  });
  const patch = { spec: { template: { spec: { schedulerName: "default-scheduler" } } } };
  await world.patch("nowhere", "merge", patch);
  await world.until("scheduled", async () => {
    assert.deepEqual((await world.podsOf("nowhere")).map(stateOf), ["Normal"]);
    assert.equal(conditionOf(await world.get("nowhere"), "Progressing")?.reason, "CloneSetAvailable");
    assert.equal(await world.row("nowhere"), "nowhere 1 1 1 1 1 1");
  });
}
