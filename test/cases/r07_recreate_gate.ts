import assert from "node:assert/strict";
import { container } from "./manifests.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "r07",
  title: "ContainerRecreateRequest: refused without gate KruiseDaemon",
  needs: [],
  gates: "KruiseDaemon=false",
  async run(world) {
    await world.step("refused with the gate's name", async () => {
      const spec = { podName: "web", containers: [{ name: "app" }] };
      const apiVersion = `apps.kruise.io/${world.version}`;
      const manifest = { apiVersion, kind: "ContainerRecreateRequest", metadata: { name: "web" }, spec };
      const text = await world.refused(() => world.apply(manifest), 403);
      assert.match(text, /: feature-gate KruiseDaemon is not enabled$/);
    });
    await world.step("launch priority does not need agents", async () => {
      const metadata = {
        name: "web",
        annotations: { "apps.kruise.io/container-launch-priority": "Ordered" },
      };
      const containers = [
        container("app", "nginx:1.20"),
        container("proxy", "nginx:1.20", { command: ["sleep", "86400"] }),
      ];
      await world.apply({
        apiVersion: "v1",
        kind: "Pod",
        metadata,
        spec: { terminationGracePeriodSeconds: 1, containers },
      });
      await world.until(
        "both run",
        async () => {
          const pod = await world.api.get("pods", "web", world.namespace);
          assert.deepEqual(
            pod.status?.containerStatuses?.map(({ ready }) => ready),
            [true, true],
          );
        },
        { timeoutMs: 90_000 },
      );
    });
  },
};
