import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { cloneSet, container, sleeper } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

interface UpdateState {
  containerBatchesRecord: { containers: string[] }[];
  nextContainerImages?: Record<string, string>;
}

export const suite: Suite = {
  number: "i05",
  title: "In place: containers in batches by launch priority",
  needs: [],
  async run(world) {
    const hook = world.seconds(10, 2);
    await world.step("the higher priority first, the other once it is ready", async () => {
      const pod = await create(world, "batches", hook);
      await update(world, "batches", "busybox:1.35");
      await world.untilAllUpdated("batches", 1, "nginx:1.21");
      const now = await world.api.get("pods", pod.metadata.name, world.namespace);
      assert.equal(now.metadata.uid, pod.metadata.uid);
      const batches = stateOf(now).containerBatchesRecord.map((batch) => batch.containers);
      assert.deepEqual(batches, [["redis"], ["nginx"]]);
      const gap = startOf(now, "nginx") - startOf(now, "redis");
      assert.ok(gap >= hook * 1000, `nginx started ${gap} ms after redis`);
    });
    await world.step("a first batch that fails holds the second", async () => {
      const pod = await create(world, "stuck", 0);
      await update(world, "stuck", "registry.invalid/busybox:1.35");
      const probe = async () => {
        const now = await world.api.get("pods", pod.metadata.name, world.namespace);
        assert.equal(now.metadata.uid, pod.metadata.uid);
        const state = stateOf(now);
        assert.deepEqual(
          state.containerBatchesRecord.map((batch) => batch.containers),
          [["redis"]],
        );
        assert.deepEqual(state.nextContainerImages, { nginx: "nginx:1.21" });
        const nginx = now.status?.containerStatuses?.find((status) => status.name === "nginx");
        assert.equal(nginx?.restartCount, 0);
      };
      await world.until("one batch", probe);
      await world.stays(probe, 10_000);
    });
  },
};

/** The key of the barrier variable is what carries a container's priority. */
function barrier(pod: string, priority: number): object[] {
  const configMapKeyRef = { name: `${pod}-barrier`, key: `p_${priority}`, optional: true };
  return [{ name: "KRUISE_CONTAINER_BARRIER", valueFrom: { configMapKeyRef } }];
}

async function create(world: World, name: string, hookSeconds: number): Promise<Item> {
  const postStart = { exec: { command: ["sleep", String(hookSeconds)] } };
  await world.apply(
    cloneSet(world.version, {
      name,
      strategy: { policy: "InPlaceIfPossible", maxUnavailable: 1 },
      containers: [
        container("nginx", "nginx:1.20", { env: barrier(name, 0) }),
        sleeper("redis", "busybox:1.34", {
          env: barrier(name, 10),
          ...(hookSeconds > 0 ? { lifecycle: { postStart } } : {}),
        }),
      ],
    }),
  );
  const [pod] = await world.untilAll(name, 1, { timeoutMs: 90_000 });
  if (pod === undefined) throw new Error("no pod");
  return pod;
}

async function update(world: World, name: string, redis: string): Promise<void> {
  await world.patch(name, "json", [
    { op: "replace", path: "/spec/template/spec/containers/0/image", value: "nginx:1.21" },
    { op: "replace", path: "/spec/template/spec/containers/1/image", value: redis },
  ]);
}

function stateOf(pod: Item): UpdateState {
  return JSON.parse(pod.metadata.annotations?.["apps.kruise.io/inplace-update-state"] ?? "{}");
}

function startOf(pod: Item, name: string): number {
  const status = pod.status?.containerStatuses?.find((entry) => entry.name === name);
  return Date.parse(status?.state?.running?.startedAt ?? "");
}
