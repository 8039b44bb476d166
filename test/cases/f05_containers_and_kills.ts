import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { container, sleeper } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

/** The controller is killed between two levels of a launch, and while it holds a pod not ready for a request. */
export const suite: Suite = {
  number: "f05",
  title: "Fault: the controller is killed while containers wait",
  needs: ["own-controller", "agent"],
  versions: ["v1beta1"],
  async run(world) {
    let controller = await world.startController();
    await world.step("a launch goes on with the next controller", async () => {
      const readinessProbe = { exec: { command: ["test", "-f", "/tmp/ok"] }, periodSeconds: 1 };
      const slow = (name: string) =>
        container(name, "busybox:1.34", {
          command: ["sh", "-c", "sleep 2; touch /tmp/ok; sleep 86400"],
          readinessProbe,
        });
      await world.apply({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "levels", annotations: { "apps.kruise.io/container-launch-priority": "Ordered" } },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [slow("a"), slow("b"), sleeper("c", "busybox:1.34")],
        },
      });
      for (const name of ["a", "b"]) {
        const started = async () => assert.ok(statusOf(await pod(world, "levels"), name)?.containerID);
        await world.until(`${name} has started`, started, { stableMs: 0 });
        await controller.kill();
        controller = await world.startController();
      }
      await world.until("all are ready", async () => {
        const found = await pod(world, "levels");
        assert.deepEqual(
          found.status?.containerStatuses?.map(({ ready, restartCount }) => [ready, restartCount]),
          Array(3).fill([true, 0]),
        );
        assert.equal(
          found.metadata.annotations?.["apps.kruise.io/container-launch-priority-completed"],
          "true",
        );
      });
    });
    await world.step("a held pod is given back by the next controller", async () => {
      await world.apply({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "held" },
        spec: {
          terminationGracePeriodSeconds: 1,
          readinessGates: [{ conditionType: "KruisePodReady" }],
          containers: [container("app", "nginx:1.20")],
        },
      });
      const gate = async (status: string) => {
        const conditions = (await pod(world, "held")).status?.conditions ?? [];
        assert.equal(conditions.find(({ type }) => type === "KruisePodReady")?.status, status);
      };
      const ready = async () =>
        assert.ok((await pod(world, "held")).status?.containerStatuses?.every((status) => status.ready));
      await world.until("it runs", ready, { timeoutMs: 90_000 });
      await world.apply({
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "ContainerRecreateRequest",
        metadata: { name: "held" },
        spec: {
          podName: "held",
          containers: [{ name: "app" }],
          strategy: { unreadyGracePeriodSeconds: 10 },
          ttlSecondsAfterFinished: 1,
        },
      });
      await world.until("it is held", () => gate("False"), { stableMs: 0 });
      await controller.kill();
      await world.until(
        "the container restarted meanwhile",
        async () => assert.equal(statusOf(await pod(world, "held"), "app")?.restartCount, 1),
        { stableMs: 0 },
      );
      controller = await world.startController();
      await world.until("it is given back, the request gone", async () => {
        await gate("True");
        assert.deepEqual(await world.list("containerrecreaterequests.v1beta1.apps.kruise.io"), []);
      });
    });
    await controller.stop();
  },
};

function pod(world: World, name: string): Promise<Item> {
  return world.api.get("pods", name, world.namespace);
}

function statusOf(of: Item, name: string) {
  return of.status?.containerStatuses?.find((status) => status.name === name);
}
