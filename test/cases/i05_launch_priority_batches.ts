import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { nameOf, onlyOf, startOf, statusOf, uidOf } from "./items.ts";
import { container, imagePatch, sleeper } from "./manifests.ts";
import type { Suite } from "./suite.ts";

const oneByOne = { policy: "InPlaceIfPossible", maxUnavailable: 1 } as const;

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
      const batches = new CloneSet(world, "batches");
      const pod = await start(batches, hook);
      await toImages(batches, "busybox:1.35");
      await batches.untilUpdated(1, "nginx:1.21");
      const now = await world.pod(nameOf(pod));
      assert.equal(uidOf(now), uidOf(pod));
      assert.deepEqual(batchesOf(stateOf(now)), [["redis"], ["nginx"]]);
      const gap = startOf(now, "nginx") - startOf(now, "redis");
      assert.ok(gap >= hook * 1000, `nginx started ${gap} ms after redis`);
    });
    await world.step("a first batch that fails holds the second", async () => {
      const stuck = new CloneSet(world, "stuck");
      const pod = await start(stuck, 0);
      await toImages(stuck, "registry.invalid/busybox:1.35");
      const probe = async () => {
        const now = await world.pod(nameOf(pod));
        assert.equal(uidOf(now), uidOf(pod));
        assert.deepEqual(batchesOf(stateOf(now)), [["redis"]]);
        assert.deepEqual(stateOf(now).nextContainerImages, { nginx: "nginx:1.21" });
        assert.equal(statusOf(now, "nginx")?.restartCount, 0);
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

async function start(clone: CloneSet, hookSeconds: number): Promise<Item> {
  const postStart = { exec: { command: ["sleep", String(hookSeconds)] } };
  const lifecycle = hookSeconds > 0 ? { lifecycle: { postStart } } : {};
  const containers = [
    container("nginx", "nginx:1.20", { env: barrier(clone.name, 0) }),
    sleeper("redis", "busybox:1.34", { env: barrier(clone.name, 10), ...lifecycle }),
  ];
  return onlyOf(await clone.start({ strategy: oneByOne, containers }, { timeoutMs: 90_000 }));
}

async function toImages(clone: CloneSet, redis: string): Promise<void> {
  await clone.patch("json", [...imagePatch("nginx:1.21"), ...imagePatch(redis, 1)]);
}

function stateOf(pod: Item): UpdateState {
  return JSON.parse(pod.metadata.annotations?.["apps.kruise.io/inplace-update-state"] ?? "{}");
}

function batchesOf(state: UpdateState): string[][] {
  return state.containerBatchesRecord.map((batch) => batch.containers);
}
