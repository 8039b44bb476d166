import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Item } from "../cluster/api.ts";
import { conditionOf, imageOf, reportsReady, restartsOf } from "./items.ts";
import { container } from "./manifests.ts";
import { StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import { type Moment, momentsOf } from "./trail.ts";
import type { World } from "./world.ts";

const graceAnnotation = "apps.kruise.io/inplace-update-grace";

/** Each waits for periods to pass: suites of their own wait side by side. */
function suite(title: string, run: (grace: StatefulSet) => Promise<void>): Suite {
  return {
    number: "23",
    title: `Advanced StatefulSet: ${title}`,
    needs: [],
    versions: ["v1beta1"],
    run: (world) => run(new StatefulSet(world, "grace")),
  };
}

export const whole = suite("grace period before the image changes", async (grace) => {
  const { world } = grace;
  const seconds = world.seconds(20, 10);
  await world.step("1 create", () => create(grace, seconds));
  await world.step("2 not ready first, the image later", () => wholePeriod(grace, seconds));
});

export const changed = suite("a change within the grace period", async (grace) => {
  const { world } = grace;
  const seconds = world.seconds(20, 15);
  await world.step("1 create", () => create(grace, seconds));
  await world.step("3 a change that waits is dropped", () => dropped(grace, seconds));
});

async function create(grace: StatefulSet, seconds: number): Promise<void> {
  await grace.world.apply({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "grace" },
    spec: { selector: { case: "grace" }, ports: [{ name: "http", port: 80 }] },
  });
  const inPlaceUpdateStrategy = { gracePeriodSeconds: seconds };
  await grace.start({
    replicas: 2,
    rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", inPlaceUpdateStrategy },
    containers: [container("nginx", "nginx:1.20", { ports: [{ name: "web", containerPort: 80 }] })],
    podSpec: { readinessGates: [{ conditionType: "InPlaceUpdateReady" }] },
  });
  await untilReadyAddresses(grace.world, 2);
}

async function wholePeriod(grace: StatefulSet, seconds: number): Promise<void> {
  const { world } = grace;
  const trail = await grace.trail();
  const before = await grace.get();
  await grace.toImage("nginx:1.21");
  await world.until("grace-1 waits", async () => {
    const pod = await world.pod("grace-1");
    assert.equal(conditionOf(pod, "InPlaceUpdateReady")?.reason, "StartInPlaceUpdate");
    assert.equal(conditionOf(pod, "Ready")?.status, "False");
    assert.notEqual(pod.metadata.labels?.["controller-revision-hash"], before.status?.updateRevision);
    assert.match(pod.metadata.annotations?.[graceAnnotation] ?? "", new RegExp(`"graceSeconds":${seconds}`));
    assert.equal(imageOf(pod), "nginx:1.20");
    assert.equal(restartsOf(pod), 0);
  });
  await untilReadyAddresses(world, 1);
  await grace.untilAll(2);
  await untilReadyAddresses(world, 2);
  const moments = await trail.stop();
  const first = momentsOf(moments, "grace-1");
  assertWaited(first, "nginx:1.21", seconds);
  const second = momentsOf(moments, "grace-0");
  assertWaited(second, "nginx:1.21", seconds);
  const firstBack = first.findLast(({ object }) => reportsReady(object))?.object;
  assert.ok(firstBack, "the pod was never Ready");
  const firstReadyAt = Date.parse(conditionOf(firstBack, "Ready")?.lastTransitionTime ?? "");
  assert.ok(
    startOf(second) >= Math.floor(firstReadyAt / 1000) * 1000,
    "grace-0 began before grace-1 was back",
  );
}

async function dropped(grace: StatefulSet, seconds: number): Promise<void> {
  const { world } = grace;
  const uids = await grace.uids();
  const trail = await grace.trail();
  await grace.toImage("nginx:1.22");
  await world.once("grace-1 waits", async () => {
    const pod = await world.pod("grace-1");
    assert.match(pod.metadata.annotations?.[graceAnnotation] ?? "", /nginx:1.22/);
  });
  await sleep((seconds * 1000) / 4);
  await grace.toImage("nginx:1.21");
  await grace.untilAt("1.21", "2 2 2 2", { timeoutMs: 180_000 });
  const moments = await trail.stop();
  assert.ok(!moments.some(({ object }) => imageOf(object) === "nginx:1.22"));
  assert.deepEqual(await grace.uids(), uids);
  assertWaited(momentsOf(moments, "grace-1"), "nginx:1.21", seconds);
  assert.deepEqual((await grace.pods()).map(restartsOf), [1, 1]);
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

async function untilReadyAddresses(world: World, count: number): Promise<void> {
  await world.until(`${count} ready addresses`, async () => {
    const slices = await world.list("endpointslices.v1.discovery.k8s.io", "kubernetes.io/service-name=grace");
    const endpoints = slices.flatMap((slice) => slice["endpoints"] ?? []);
    const ready = endpoints.filter((endpoint) => JSON.stringify(endpoint).includes('"ready":true'));
    assert.equal(ready.length, count);
  });
}
