import assert from "node:assert/strict";
import { container, podOf, sleeper } from "./manifests.ts";
import { RecreateRequest } from "./recreate_requests.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "r07",
  title: "ContainerRecreateRequest: refused without gate KruiseDaemon",
  needs: [],
  gates: "KruiseDaemon=false",
  async run(world) {
    await world.step("refused with the gate's name", () =>
      world.refuses(
        403,
        () => new RecreateRequest(world, "web").create(),
        /: feature-gate KruiseDaemon is not enabled$/,
      ),
    );
    await world.step("launch priority does not need agents", async () => {
      const annotations = { "apps.kruise.io/container-launch-priority": "Ordered" };
      const containers = [container("app", "nginx:1.20"), sleeper("proxy", "nginx:1.20")];
      await world.apply(podOf("web", { annotations, containers }));
      await world.within(90_000, "both run", async () => {
        const ready = (await world.pod("web")).status?.containerStatuses?.map((one) => one.ready);
        assert.deepEqual(ready, [true, true]);
      });
    });
  },
};
