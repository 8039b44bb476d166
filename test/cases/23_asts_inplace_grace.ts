import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Item } from "../cluster/api.ts";
import { container } from "./manifests.ts";
import { Sets, statefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import { conditionOf, type Moment } from "./trail.ts";
import type { World } from "./world.ts";

const graceAnnotation = "apps.kruise.io/inplace-update-grace";

/** Each waits for periods to pass: suites of their own wait side by side. */
function suite(title: string, run: (world: World, sets: Sets) => Promise<void>): Suite {
  return {
    number: "23",
    title: `Advanced StatefulSet: ${title}`,
    needs: [],
    versions: ["v1beta1"],
    run: (world) => run(world, new Sets(world)),
  };
}

export const whole = suite("grace period before the image changes", async (world, sets) => {
  const seconds = world.seconds(20, 10);
  await world.step("1 create", () => create(world, sets, seconds));
  await world.step("2 not ready first, the image later", () => wholePeriod(world, sets, seconds));
});

export const changed = suite("a change within the grace period", async (world, sets) => {
  const seconds = world.seconds(20, 15);
  await world.step("1 create", () => create(world, sets, seconds));
  await world.step("3 a change that waits is dropped", () => dropped(world, sets, seconds));
});

async function create(world: World, sets: Sets, seconds: number): Promise<void> {
  await world.apply({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "grace" },
    spec: { selector: { case: "grace" }, ports: [{ name: "http", port: 80 }] },
  });
  await world.apply(
    statefulSet(world.version, {
      name: "grace",
      replicas: 2,
      rollingUpdate: {
        podUpdatePolicy: "InPlaceIfPossible",
        inPlaceUpdateStrategy: { gracePeriodSeconds: seconds },
      },
      containers: [container("nginx", "nginx:1.20", { ports: [{ name: "web", containerPort: 80 }] })],
      podSpec: { readinessGates: [{ conditionType: "InPlaceUpdateReady" }] },
    }),
  );
  await sets.untilRow("grace 2 2 2 2");
  await untilReadyAddresses(world, 2);
}

async function wholePeriod(world: World, sets: Sets, seconds: number): Promise<void> {
  const trail = await world.trail("pods", "case=grace");
  const before = await sets.get("grace");
  await sets.toImage("grace", "nginx:1.21");
  await world.until("grace-1 waits", async () => {
    const pod = await world.api.get("pods", "grace-1", world.namespace);
    assert.equal(conditionOf(pod, "InPlaceUpdateReady")?.reason, "StartInPlaceUpdate");
    assert.equal(conditionOf(pod, "Ready")?.status, "False");
    assert.notEqual(pod.metadata.labels?.["controller-revision-hash"], before.status?.updateRevision);
    assert.match(pod.metadata.annotations?.[graceAnnotation] ?? "", new RegExp(`"graceSeconds":${seconds}`));
    assert.equal(imageOf(pod), "nginx:1.20");
    assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0);
  });
  await untilReadyAddresses(world, 1);
  await sets.untilRow("grace 2 2 2 2", { timeoutMs: 120_000 });
  await untilReadyAddresses(world, 2);
  const moments = await trail.stop();
  const first = courseOfPod(moments, "grace-1");
  assertWaited(first, "nginx:1.21", seconds);
  const second = courseOfPod(moments, "grace-0");
  assertWaited(second, "nginx:1.21", seconds);
  const firstBack = first.findLast(({ object }) => conditionOf(object, "Ready")?.status === "True");
  const firstReadyAt = Date.parse(
    conditionOf(firstBack?.object ?? missing(), "Ready")?.lastTransitionTime ?? "",
  );
  assert.ok(
    startOf(second) >= Math.floor(firstReadyAt / 1000) * 1000,
    "grace-0 began before grace-1 was back",
  );
}

async function dropped(world: World, sets: Sets, seconds: number): Promise<void> {
  const uids = await sets.uids("grace");
  const trail = await world.trail("pods", "case=grace");
  await sets.toImage("grace", "nginx:1.22");
  await world.until(
    "grace-1 waits",
    async () => {
      const pod = await world.api.get("pods", "grace-1", world.namespace);
      assert.match(pod.metadata.annotations?.[graceAnnotation] ?? "", /nginx:1.22/);
    },
    { stableMs: 0 },
  );
  await sleep((seconds * 1000) / 4);
  await sets.toImage("grace", "nginx:1.21");
  await world.until(
    "both at 1.21",
    async () => {
      assert.deepEqual(await sets.images("grace"), { "grace-0": "1.21", "grace-1": "1.21" });
      assert.equal(await sets.row("grace"), "grace 2 2 2 2");
    },
    { timeoutMs: 180_000 },
  );
  const moments = await trail.stop();
  assert.ok(!moments.some(({ object }) => imageOf(object) === "nginx:1.22"));
  assert.deepEqual(await sets.uids("grace"), uids);
  assertWaited(courseOfPod(moments, "grace-1"), "nginx:1.21", seconds);
  for (const pod of await sets.pods("grace")) {
    assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 1);
  }
}

function courseOfPod(moments: readonly Moment[], name: string): Moment[] {
  return moments.filter(({ object }) => object.metadata.name === name);
}

function missing(): Item {
  throw new Error("the pod was never Ready");
}

/** When the pod's update began, by its own annotation; of the last update before the image changed. */
function startOf(course: readonly Moment[]): number {
  const waiting = course.findLast(
    ({ object }) => object.metadata.annotations?.[graceAnnotation] !== undefined,
  );
  return Date.parse(stateOf(waiting?.object).updateTimestamp ?? "");
}

interface State {
  readonly updateTimestamp?: string;
  readonly containerBatchesRecord?: readonly { readonly timestamp: string }[];
}

function stateOf(pod: Item | undefined): State {
  return JSON.parse(pod?.metadata.annotations?.["apps.kruise.io/inplace-update-state"] ?? "{}");
}

function assertWaited(course: readonly Moment[], image: string, seconds: number): void {
  const changed = course.find(({ object, type }) => type !== "PRESENT" && imageOf(object) === image);
  assert.equal(changed?.object.metadata.annotations?.[graceAnnotation], undefined);
  const begun = startOf(course);
  const seen = ((changed?.at ?? Number.NaN) - begun) / 1000;
  assert.ok(seen >= seconds, `the image changed after ${seen} s`);
  // The change's own record: it may be seen here later than it was written.
  const { containerBatchesRecord = [] } = stateOf(changed?.object);
  const written = (Date.parse(containerBatchesRecord.at(-1)?.timestamp ?? "") - begun) / 1000;
  assert.ok(written >= seconds && written < seconds + 10, `the image was changed after ${written} s`);
}

function imageOf(pod: Item): string | undefined {
  return pod.spec?.containers?.[0]?.image;
}

async function untilReadyAddresses(world: World, count: number): Promise<void> {
  await world.until(`${count} ready addresses`, async () => {
    const slices = await world.list("endpointslices.v1.discovery.k8s.io", "kubernetes.io/service-name=grace");
    const endpoints = slices.flatMap((slice) => slice["endpoints"] ?? []);
    const ready = endpoints.filter((endpoint) => JSON.stringify(endpoint).includes('"ready":true'));
    assert.equal(ready.length, count);
  });
}
