import assert from "node:assert/strict";
import { type Item, isRecord } from "../cluster/api.ts";
import { container, sleeper } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "r03",
  title: "ContainerRecreateRequest: hooks, order, deadline, restart policy",
  needs: ["agent"],
  async run(world) {
    const hook = 6;
    await world.step("unordered, containers start beside each other", async () => {
      const done = await restartBoth(world, "beside", hook, {});
      assert.deepEqual(states(done), ["app Succeeded", "sidecar Succeeded"]);
      const [app = 0, sidecar = 0] = await ends(world, "beside");
      assert.ok(sidecar - app < (hook - 1) * 1_000, `stopped ${sidecar - app} ms apart`);
    });
    await world.step("ordered, the second stops when the first is back", async () => {
      const done = await restartBoth(world, "ordered", hook, { orderedRecreate: true });
      assert.deepEqual(states(done), ["app Succeeded", "sidecar Succeeded"]);
      const [app = 0, sidecar = 0] = await ends(world, "ordered");
      // Times of the API have whole seconds.
      assert.ok(sidecar - app >= (hook - 1) * 1_000, `stopped ${sidecar - app} ms apart`);
    });
    await deadline(world);
    await world.step("a container that the restart policy keeps down has failed", async () => {
      await create(world, "once", [sleeper("app", "busybox:1.34")], { restartPolicy: "Never" });
      await request(world, "once", { containers: [{ name: "app" }] });
      const done = await untilCompleted(world, "once");
      assert.deepEqual(states(done), ["app Failed"]);
    });
  },
};

async function restartBoth(world: World, name: string, hook: number, strategy: object): Promise<Item> {
  const lifecycle = { postStart: { exec: { command: ["sleep", String(hook)] } } };
  // Containers that end at once when they are told to.
  const command = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1; done"];
  await create(world, name, [
    container("app", "busybox:1.34", { command, lifecycle }),
    container("sidecar", "busybox:1.34", { command }),
  ]);
  await request(world, name, { containers: [{ name: "app" }, { name: "sidecar" }], strategy });
  return untilCompleted(world, name);
}

/** A hook goes on when the deadline has ended the request, and its result is reported. */
async function deadline(world: World): Promise<void> {
  await world.step("the deadline ends the request, not the stop under way", async () => {
    const lifecycle = { preStop: { exec: { command: ["sleep", "8"] } } };
    await create(world, "late", [
      container("app", "nginx:1.20", { lifecycle }),
      sleeper("sidecar", "busybox:1.34", { lifecycle }),
    ]);
    await request(world, "late", {
      containers: [{ name: "app" }, { name: "sidecar" }],
      strategy: { terminationGracePeriodSeconds: 20 },
      activeDeadlineSeconds: 3,
    });
    const done = await untilCompleted(world, "late");
    const ended = Date.parse(String(done.status?.["completionTime"]));
    const took = ended - Date.parse(done.metadata.creationTimestamp ?? "");
    assert.ok(took >= 3_000 && took < 8_000, `completed after ${took} ms, its hook takes 8 s`);
    assert.equal(done.status?.["message"], "recreating has exceeded the activeDeadlineSeconds");
    assert.deepEqual(states(done), ["app Pending", "sidecar Pending"]);
    await world.until("the stop under way has ended", async () => {
      const late = await world.api.get("pods", "late", world.namespace);
      const counts = late.status?.containerStatuses?.map((status) => status.restartCount);
      assert.deepEqual(counts, [1, 0]);
      assert.deepEqual(states(await get(world, "late")), ["app Recreating", "sidecar Pending"]);
    });
  });
}

function resource(world: World): string {
  return `containerrecreaterequests.${world.version}.apps.kruise.io`;
}

async function create(world: World, name: string, containers: object[], spec: object = {}): Promise<void> {
  await world.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 1, containers, ...spec },
  });
  await world.until(
    `${name} is ready`,
    async () => {
      const pod = await world.api.get("pods", name, world.namespace);
      assert.ok(pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True"));
    },
    { timeoutMs: 90_000, stableMs: 0 },
  );
}

function request(world: World, name: string, spec: object): Promise<Item> {
  return world.apply({
    apiVersion: `apps.kruise.io/${world.version}`,
    kind: "ContainerRecreateRequest",
    metadata: { name },
    spec: { podName: name, ...spec },
  });
}

function get(world: World, name: string): Promise<Item> {
  return world.api.get(resource(world), name, world.namespace);
}

async function untilCompleted(world: World, name: string): Promise<Item> {
  await world.until(
    `${name} is completed`,
    async () => assert.equal((await get(world, name)).status?.phase, "Completed"),
    { timeoutMs: 90_000, stableMs: 0 },
  );
  return get(world, name);
}

function states(done: Item): string[] {
  const all: unknown = done.status?.["containerRecreateStates"];
  return (Array.isArray(all) ? all : [])
    .filter(isRecord)
    .map((state) => `${String(state["name"])} ${String(state["phase"])}`);
}

/** When the former containers ended, milliseconds since the Unix epoch: of `app`, of `sidecar`. */
async function ends(world: World, name: string): Promise<number[]> {
  const pod = await world.api.get("pods", name, world.namespace);
  return ["app", "sidecar"].map((container) => {
    const status = pod.status?.containerStatuses?.find((one) => one.name === container);
    return Date.parse(status?.lastState?.terminated?.finishedAt ?? "");
  });
}
