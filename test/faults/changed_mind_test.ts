/** A user changes a workload while a long line of writes is under way for what was asked before. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { imagePatch } from "../cases/manifests.ts";
import { startTestSandbox, type TestSandbox } from "../cases/sandbox_target.ts";
import { inTime, Life, reached } from "./lab.ts";
import { clone, type Place } from "./scenarios.ts";

/** So many that the line lasts for seconds: each write of a pod takes 50 ms, and a window of them is under way. */
const many = 150;
/** What is under way when a change arrives is at most what is handed to the client at once, and an answer more. */
const mostBegun = 64 + 8;

/** A controller whose pod writes are slow, and what it has written. */
async function begin(sandbox: TestSandbox, namespace: string, replicas: number) {
  const { api, faults } = sandbox;
  await api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const place: Place = { api, namespace };
  const life = new Life(sandbox, namespace, 1);
  await inTime(life.synced, `${namespace}: caches were not filled`);
  await api.create(clone({ replicas, maxUnavailable: many }), namespace);
  await reached(place, () => observed(place, replicas), "its beginning");
  const writes = { create: 0, patch: 0, delete: 0 };
  const stopCounting = faults.onWrite(({ verb, resource, userAgent }) => {
    if (resource !== "pods" || userAgent !== life.agent) return;
    if (verb === "create" || verb === "patch" || verb === "delete") writes[verb]++;
  });
  for (const verb of ["create", "patch"])
    faults.add({ userAgent: life.agent, verb, resource: "pods", effect: { type: "latency", ms: 50 } });
  return {
    place,
    writes,
    async end() {
      stopCounting();
      await life.end();
      await api.remove("namespaces", namespace);
    },
  };
}

/** The status is about the latest generation, and as many pods are ready. */
async function observed({ api, namespace }: Place, ready?: number): Promise<void> {
  const { status, metadata } = await api.get("clonesets", "it", namespace);
  assert.equal(status?.observedGeneration, metadata.generation, "observed");
  if (ready !== undefined) {
    assert.deepEqual([status?.replicas, status?.readyReplicas], [ready, ready]);
    assert.equal((await api.list("pods", namespace)).length, ready);
  }
}

t.test("writes that were decided for an earlier generation", async (t) => {
  const sandbox = await startTestSandbox({ serves: ["CloneSet"] });
  t.teardown(() => sandbox.stop());

  await t.test("scaled in during a long scale-out: no further pod is created", async (t) => {
    const run = await begin(sandbox, "scaled-back", 2);
    t.teardown(run.end);
    const { place, writes } = run;
    await place.api.patch("clonesets", "it", place.namespace, "merge", { spec: { replicas: many } });
    await reached(place, async () => assert.ok(writes.create >= 10, "creations began"), "its first pods");
    await place.api.patch("clonesets", "it", place.namespace, "merge", { spec: { replicas: 2 } });
    const before = writes.create;
    await reached(place, () => observed(place, 2), "its end");
    const after = writes.create;
    t.ok(after <= before + mostBegun, `${after} pods were created, ${before} of them before the change`);
    t.ok(after < many - 20, `${after} creations`);
    await sleep(300);
    t.equal(writes.create, after, "once the change is observed nothing is created any more");
    await observed(place, 2);
  });

  await t.test("a pod to delete that changes no count: observed when it is going", async (t) => {
    const run = await begin(sandbox, "listed", 3);
    t.teardown(run.end);
    const { api, namespace } = run.place;
    sandbox.faults.add({ namespace, verb: "delete", resource: "pods", effect: { type: "latency", ms: 500 } });
    const [listed] = (await api.list("pods", namespace)).map(({ metadata }) => metadata.name);
    const podsToDelete = [listed];
    await api.patch("clonesets", "it", namespace, "merge", { spec: { scaleStrategy: { podsToDelete } } });
    await reached(run.place, () => observed(run.place), "its observation");
    const left = (await api.list("pods", namespace)).find(({ metadata }) => metadata.name === listed);
    t.ok(left === undefined || left.metadata.deletionTimestamp !== undefined, "it is gone or going");
    await reached(run.place, () => observed(run.place, 3), "its end");
  });

  await t.test("paused during a long rollout: no further pod is touched", async (t) => {
    const run = await begin(sandbox, "paused", many);
    t.teardown(run.end);
    const { place, writes } = run;
    await place.api.patch("clonesets", "it", place.namespace, "json", imagePatch("nginx:1.21"));
    await reached(place, async () => assert.ok(writes.patch >= 10, "patches began"), "its first pods");
    const pause = { spec: { updateStrategy: { rollingUpdate: { paused: true } } } };
    await place.api.patch("clonesets", "it", place.namespace, "merge", pause);
    await reached(place, () => observed(place), "its pause");
    const images = async () =>
      (await place.api.list("pods", place.namespace)).map((pod) => pod.spec?.containers?.[0]?.image).sort();
    const then = await images();
    await sleep(300);
    t.same(await images(), then, "once the pause is observed no image changes any more");
    t.ok(then.includes("nginx:1.20"), "some pods were not reached");
  });
});
