import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { statusOf } from "./items.ts";
import { container, podOf, sleeper } from "./manifests.ts";
import { politeCommand, RecreateRequest, statesOf } from "./recreate_requests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const hook = 6;
const both = { containers: [{ name: "app" }, { name: "sidecar" }] };

export const suite: Suite = {
  number: "r03",
  title: "ContainerRecreateRequest: hooks, order, deadline, restart policy",
  needs: ["agent"],
  async run(world) {
    await world.step("unordered, containers start beside each other", async () => {
      const apart = await restartBoth(world, "beside", {});
      assert.ok(apart < (hook - 1) * 1_000, `stopped ${apart} ms apart`);
    });
    await world.step("ordered, the second stops when the first is back", async () => {
      const apart = await restartBoth(world, "ordered", { orderedRecreate: true });
      // Times of the API have whole seconds.
      assert.ok(apart >= (hook - 1) * 1_000, `stopped ${apart} ms apart`);
    });
    await deadline(world);
    await world.step("a container that the restart policy keeps down has failed", async () => {
      await startPod(world, "once", [sleeper("app", "busybox:1.34")], { restartPolicy: "Never" });
      const once = new RecreateRequest(world, "once");
      await once.create();
      assert.deepEqual(statesOf(await once.untilCompleted()), ["app Failed"]);
    });
  },
};

/** How long after `app` the former container of `sidecar` ended, in milliseconds. */
async function restartBoth(world: World, name: string, strategy: object): Promise<number> {
  const lifecycle = { postStart: { exec: { command: ["sleep", String(hook)] } } };
  await startPod(world, name, [
    container("app", "busybox:1.34", { command: politeCommand, lifecycle }),
    container("sidecar", "busybox:1.34", { command: politeCommand }),
  ]);
  const request = new RecreateRequest(world, name);
  await request.create({ ...both, strategy });
  assert.deepEqual(statesOf(await request.untilCompleted()), ["app Succeeded", "sidecar Succeeded"]);
  // A kubelet tells of no container while it runs the hook of one.
  let apart = Number.NaN;
  await world.once(`${name} tells how its former containers ended`, async () => {
    const pod = await world.pod(name);
    apart = endOf(pod, "sidecar") - endOf(pod, "app");
    assert.ok(!Number.isNaN(apart), "the pod's status has both");
  });
  return apart;
}

function endOf(pod: Item, container: string): number {
  return Date.parse(statusOf(pod, container)?.lastState?.terminated?.finishedAt ?? "");
}

/** A hook goes on when the deadline has ended the request, and its result is reported. */
async function deadline(world: World): Promise<void> {
  await world.step("the deadline ends the request, not the stop under way", async () => {
    const lifecycle = { preStop: { exec: { command: ["sleep", "8"] } } };
    await startPod(world, "late", [
      container("app", "nginx:1.20", { lifecycle }),
      sleeper("sidecar", "busybox:1.34", { lifecycle }),
    ]);
    const late = new RecreateRequest(world, "late");
    const strategy = { terminationGracePeriodSeconds: 20 };
    await late.create({ ...both, strategy, activeDeadlineSeconds: 3 });
    const done = await late.untilCompleted();
    const ended = Date.parse(String(done.status?.["completionTime"]));
    const took = ended - Date.parse(done.metadata.creationTimestamp);
    assert.ok(took >= 3_000 && took < 8_000, `completed after ${took} ms, its hook takes 8 s`);
    assert.equal(done.status?.["message"], "recreating has exceeded the activeDeadlineSeconds");
    assert.deepEqual(statesOf(done), ["app Pending", "sidecar Pending"]);
    await world.until("the stop under way has ended", async () => {
      const counts = (await world.pod("late")).status?.containerStatuses?.map((one) => one.restartCount);
      assert.deepEqual(counts, [1, 0]);
      assert.deepEqual(statesOf(await late.get()), ["app Recreating", "sidecar Pending"]);
    });
  });
}

async function startPod(world: World, name: string, containers: object[], spec: object = {}): Promise<void> {
  await world.apply(podOf(name, { containers, spec }));
  await world.untilReady(name, 90_000);
}
