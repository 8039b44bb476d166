import assert from "node:assert/strict";
import { statusOf } from "./items.ts";
import { container, podOf, sleeper } from "./manifests.ts";
import { RecreateRequest } from "./recreate_requests.ts";
import type { Suite } from "./suite.ts";

/** The controller is killed between two levels of a launch, and while it holds a pod not ready for a request. */
export const suite: Suite = {
  number: "f05",
  title: "Fault: the controller is killed while containers wait",
  needs: ["own-controller", "agent"],
  versions: ["v1beta1"],
  async run(world) {
    // As in a cluster, the next one answers at the same address with the same certificates: nothing of the webhooks changes.
    let controller = await world.startController({ certificatesInSecret: true });
    const { webhookPort } = controller;
    const startNext = () => world.startController({ certificatesInSecret: true, webhookPort });
    await world.step("a launch goes on with the next controller", async () => {
      const readinessProbe = { exec: { command: ["test", "-f", "/tmp/ok"] }, periodSeconds: 1 };
      const slow = (name: string) =>
        container(name, "busybox:1.34", {
          command: ["sh", "-c", "sleep 2; touch /tmp/ok; sleep 86400"],
          readinessProbe,
        });
      const annotations = { "apps.kruise.io/container-launch-priority": "Ordered" };
      const containers = [slow("a"), slow("b"), sleeper("c", "busybox:1.34")];
      await world.apply(podOf("levels", { annotations, containers }));
      for (const name of ["a", "b"]) {
        const started = async () => assert.ok(statusOf(await world.pod("levels"), name)?.containerID);
        await world.once(`${name} has started`, started);
        await controller.kill();
        controller = await startNext();
      }
      await world.until("all are ready", async () => {
        const found = await world.pod("levels");
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
      const spec = { readinessGates: [{ conditionType: "KruisePodReady" }] };
      await world.apply(podOf("held", { spec }));
      const gate = async (status: string) => {
        const conditions = (await world.pod("held")).status?.conditions ?? [];
        assert.equal(conditions.find(({ type }) => type === "KruisePodReady")?.status, status);
      };
      const ready = async () =>
        assert.ok((await world.pod("held")).status?.containerStatuses?.every((status) => status.ready));
      await world.within(90_000, "it runs", ready);
      const strategy = { unreadyGracePeriodSeconds: 10 };
      const request = new RecreateRequest(world, "held");
      await request.create({ strategy, ttlSecondsAfterFinished: 1 });
      // From then on the agent needs nothing more of the controller.
      await world.once("it is held, and the request says since when", async () => {
        await gate("False");
        const { conditions = [] } = (await request.get()).status ?? {};
        assert.equal(conditions.find(({ type }) => type === "PreRecreateGrace")?.status, "True");
      });
      await controller.kill();
      await world.once("the container restarted meanwhile", async () =>
        assert.equal(statusOf(await world.pod("held"), "app")?.restartCount, 1),
      );
      controller = await startNext();
      await world.until("it is given back, the request gone", async () => {
        await gate("True");
        assert.deepEqual(await world.list(request.resource), []);
      });
    });
    await controller.stop();
  },
};
