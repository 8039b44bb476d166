import assert from "node:assert/strict";
import type { Item, Resources } from "../cluster/api.ts";
import { cloneSet, container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { conditionOf, courseOf } from "./trail.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "i12",
  title: "In place: cpu and memory",
  needs: [],
  gates: "InPlaceWorkloadVerticalScaling=true",
  async run(world) {
    await world.step("12 without a restart", () => resizeLive(world));
    await world.step("13 a resize policy that restarts", () => resizeByRestart(world));
    await world.step("14 an infeasible amount, then a feasible one", () => infeasible(world));
    await world.step("15 another class of service recreates", () => otherClass(world));
  },
};

async function create(world: World, name: string, cpuPolicy: string): Promise<Item> {
  await world.apply(
    cloneSet(world.version, {
      name,
      strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1 },
      containers: [
        container("nginx", "nginx:1.20", {
          resources: { requests: { cpu: "50m", memory: "32Mi" }, limits: { cpu: "100m", memory: "64Mi" } },
          resizePolicy: [
            { resourceName: "cpu", restartPolicy: cpuPolicy },
            { resourceName: "memory", restartPolicy: "NotRequired" },
          ],
        }),
      ],
    }),
  );
  const [pod] = await world.untilAll(name, 1);
  if (pod === undefined) throw new Error("no pod");
  return pod;
}

async function setCpu(world: World, name: string, limit: string, request: string): Promise<void> {
  const at = "/spec/template/spec/containers/0/resources";
  await world.patch(name, "json", [
    { op: "replace", path: `${at}/limits/cpu`, value: limit },
    { op: "replace", path: `${at}/requests/cpu`, value: request },
  ]);
}

function actual(pod: Item): Resources | undefined {
  return pod.status?.containerStatuses?.[0]?.resources;
}

async function untilCpu(
  world: World,
  name: string,
  old: Item,
  limit: string,
  restarts: number,
): Promise<void> {
  await world.until(`cpu limit ${limit}`, async () => {
    const [pod, ...others] = await world.podsOf(name);
    if (pod === undefined) throw new Error("no pod");
    assert.equal(others.length, 0);
    assert.equal(pod.metadata.uid, old.metadata.uid);
    assert.equal(pod.spec?.containers?.[0]?.resources?.limits?.["cpu"], limit);
    assert.equal(actual(pod)?.limits?.["cpu"], limit);
    assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, restarts);
    assert.equal(await world.row(name), `${name} 1 1 1 1 1 1`);
  });
}

async function resizeLive(world: World): Promise<void> {
  const pod = await create(world, "live", "NotRequired");
  const trail = await world.trail("pods", "case=live");
  await setCpu(world, "live", "120m", "60m");
  await untilCpu(world, "live", pod, "120m", 0);
  const moments = await trail.stop();
  const ready = courseOf(moments, pod.metadata.name, (item) => conditionOf(item, "Ready")?.status);
  assert.deepEqual(ready, ["True"]);
  const gate = courseOf(
    moments,
    pod.metadata.name,
    (item) => conditionOf(item, "InPlaceUpdateReady")?.status,
  );
  assert.deepEqual(gate, ["True"]);
}

async function resizeByRestart(world: World): Promise<void> {
  const pod = await create(world, "by-restart", "RestartContainer");
  const trail = await world.trail("pods", "case=by-restart");
  await setCpu(world, "by-restart", "120m", "60m");
  await untilCpu(world, "by-restart", pod, "120m", 1);
  const gate = courseOf(
    await trail.stop(),
    pod.metadata.name,
    (item) => conditionOf(item, "InPlaceUpdateReady")?.status,
  );
  assert.deepEqual(gate, ["True", "False", "True"]);
}

async function infeasible(world: World): Promise<void> {
  const [pod] = await world.livePodsOf("live");
  if (pod === undefined) throw new Error("no pod");
  await setCpu(world, "live", "800", "800");
  await world.until("the node cannot", async () => {
    const [now] = await world.podsOf("live");
    if (now === undefined) throw new Error("no pod");
    assert.equal(now.metadata.uid, pod.metadata.uid);
    assert.equal(conditionOf(now, "PodResizePending")?.reason, "Infeasible");
    const { status } = await world.get("live");
    assert.equal(now.metadata.labels?.["controller-revision-hash"], status?.updateRevision);
  });
  await setCpu(world, "live", "140m", "70m");
  await untilCpu(world, "live", pod, "140m", 0);
}

async function otherClass(world: World): Promise<void> {
  const [pod] = await world.livePodsOf("live");
  if (pod === undefined) throw new Error("no pod");
  const same = { cpu: "100m", memory: "64Mi" };
  const path = "/spec/template/spec/containers/0/resources";
  await world.patch("live", "json", [{ op: "replace", path, value: { requests: same, limits: same } }]);
  await world.until("another pod", async () => {
    const [now, ...others] = await world.podsOf("live");
    assert.equal(others.length, 0);
    assert.ok(now !== undefined && now.metadata.uid !== pod.metadata.uid);
    assert.equal(now.status?.["qosClass"], "Guaranteed");
    assert.equal(await world.row("live"), "live 1 1 1 1 1 1");
  });
}
