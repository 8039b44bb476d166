import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { conditionOf, nameOf, onlyOf, restartsOf, uidOf } from "./items.ts";
import { container, replacePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { courseOf, type Trail } from "./trail.ts";

const resourcesPath = "/spec/template/spec/containers/0/resources";

export const suite: Suite = {
  number: "i12",
  title: "In place: cpu and memory",
  needs: [],
  gates: "InPlaceWorkloadVerticalScaling=true",
  async run(world) {
    const live = new CloneSet(world, "live");
    await world.step("12 without a restart", () => resizeLive(live));
    await world.step("13 a resize policy that restarts", () =>
      resizeByRestart(new CloneSet(world, "by-restart")),
    );
    await world.step("14 an infeasible amount, then a feasible one", () => infeasible(live));
    await world.step("15 another class of service recreates", () => otherClass(live));
  },
};

async function start(clone: CloneSet, cpuPolicy: string): Promise<Item> {
  const resources = { requests: { cpu: "50m", memory: "32Mi" }, limits: { cpu: "100m", memory: "64Mi" } };
  const resizePolicy = [
    { resourceName: "cpu", restartPolicy: cpuPolicy },
    { resourceName: "memory", restartPolicy: "NotRequired" },
  ];
  const containers = [container("nginx", "nginx:1.20", { resources, resizePolicy })];
  return onlyOf(
    await clone.start({ strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1 }, containers }),
  );
}

async function setCpu(clone: CloneSet, limit: string, request: string): Promise<void> {
  await clone.patch("json", [
    ...replacePatch(`${resourcesPath}/limits/cpu`, limit),
    ...replacePatch(`${resourcesPath}/requests/cpu`, request),
  ]);
}

async function untilCpu(clone: CloneSet, old: Item, limit: string, restarts: number): Promise<void> {
  await clone.world.until(`cpu limit ${limit}`, async () => {
    const pod = onlyOf(await clone.pods());
    assert.equal(uidOf(pod), uidOf(old));
    assert.equal(pod.spec?.containers?.[0]?.resources?.limits?.["cpu"], limit);
    assert.equal(pod.status?.containerStatuses?.[0]?.resources?.limits?.["cpu"], limit);
    assert.equal(restartsOf(pod), restarts);
    await clone.assertAll(1);
  });
}

/** The statuses that a condition of the pod took. */
async function courseOfCondition(trail: Trail, pod: Item, type: string): Promise<string[]> {
  return courseOf(await trail.stop(), nameOf(pod), (item) => conditionOf(item, type)?.status);
}

async function resizeLive(live: CloneSet): Promise<void> {
  const pod = await start(live, "NotRequired");
  const trail = await live.trail();
  await setCpu(live, "120m", "60m");
  await untilCpu(live, pod, "120m", 0);
  for (const type of ["Ready", "InPlaceUpdateReady"])
    assert.deepEqual(await courseOfCondition(trail, pod, type), ["True"]);
}

async function resizeByRestart(clone: CloneSet): Promise<void> {
  const pod = await start(clone, "RestartContainer");
  const trail = await clone.trail();
  await setCpu(clone, "120m", "60m");
  await untilCpu(clone, pod, "120m", 1);
  const course = await courseOfCondition(trail, pod, "InPlaceUpdateReady");
  assert.deepEqual(course, ["True", "False", "True"]);
}

async function infeasible(live: CloneSet): Promise<void> {
  const pod = onlyOf(await live.livePods());
  await setCpu(live, "800", "800");
  await live.world.until("the node cannot", async () => {
    const now = onlyOf(await live.pods());
    assert.equal(uidOf(now), uidOf(pod));
    assert.equal(conditionOf(now, "PodResizePending")?.reason, "Infeasible");
    assert.equal(now.metadata.labels?.["controller-revision-hash"], (await live.status()).updateRevision);
  });
  await setCpu(live, "140m", "70m");
  await untilCpu(live, pod, "140m", 0);
}

async function otherClass(live: CloneSet): Promise<void> {
  const before = await live.livePods();
  const same = { cpu: "100m", memory: "64Mi" };
  await live.patch("json", replacePatch(resourcesPath, { requests: same, limits: same }));
  await live.untilReplaced(before);
  assert.equal(onlyOf(await live.pods()).status?.["qosClass"], "Guaranteed");
}
