import assert from "node:assert/strict";
import { CloneSet } from "./clone_sets.ts";
import { records } from "./items.ts";
import { container } from "./manifests.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "16",
  title: "Scaling through the scale subresource",
  needs: [],
  async run(world) {
    const demo = new CloneSet(world, "hpa-demo");
    await world.step("1 scale subresource", async () => {
      const resources = { requests: { cpu: "50m", memory: "50Mi" } };
      await demo.start({
        labels: { case: "hpa" },
        containers: [container("nginx", "nginx:1.20", { ports: [{ containerPort: 80 }], resources })],
      });
      const scale = await world.api.get(demo.resource, demo.name, world.namespace, "scale");
      assert.equal(scale.kind, "Scale");
      assert.equal(scale.spec?.replicas, 1);
      assert.equal(scale.status?.replicas, 1);
      assert.equal(scale.status?.["selector"], "case=hpa");
      const { generation } = (await demo.get()).metadata;
      for (const [change, replicas] of [3, 1].entries()) {
        await demo.scale(replicas);
        await demo.untilAll(replicas);
        assert.equal((await demo.get()).metadata.generation, generation + change + 1);
      }
    });
    await world.step("2 which kinds have it", async () => {
      const answer = await world.api.request("GET", "/apis/apps.kruise.io/v1beta1");
      const served = records(Object(answer.body)["resources"]).map(({ name }) => String(name));
      const scaled = served.filter((name) => name.endsWith("/scale"));
      assert.deepEqual(scaled.sort(), ["clonesets/scale", "statefulsets/scale", "uniteddeployments/scale"]);
      const missing = `/apis/apps.kruise.io/v1beta1/namespaces/${world.namespace}/daemonsets/any/scale`;
      assert.equal((await world.api.request("GET", missing)).status, 404);
    });
    await world.step("3 a precondition holds", async () => {
      const stale = {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "hpa-demo", namespace: world.namespace, resourceVersion: "1" },
        spec: { replicas: 2 },
      };
      const path = `/apis/apps.kruise.io/${world.version}/namespaces/${world.namespace}/clonesets/hpa-demo/scale`;
      assert.equal((await world.api.request("PUT", path, stale)).status, 409);
      assert.equal((await demo.get()).spec?.replicas, 1);
    });
    world.skip("4 to 8", "needs an autoscaler with a metrics API whose usage can be set");
  },
};
