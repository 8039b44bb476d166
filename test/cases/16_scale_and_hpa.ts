import assert from "node:assert/strict";
import { isRecord } from "../cluster/api.ts";
import { cloneSet, container } from "./manifests.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "16",
  title: "Scaling through the scale subresource",
  needs: [],
  async run(world) {
    await world.step("1 scale subresource", async () => {
      await world.apply(
        cloneSet(world.version, {
          name: "hpa-demo",
          labels: { case: "hpa" },
          containers: [
            container("nginx", "nginx:1.20", {
              ports: [{ containerPort: 80 }],
              resources: { requests: { cpu: "50m", memory: "50Mi" } },
            }),
          ],
        }),
      );
      await world.untilAll("hpa-demo", 1);
      const scale = await world.api.get(world.cloneSets, "hpa-demo", world.namespace, "scale");
      assert.equal(scale.kind, "Scale");
      assert.equal(scale.spec?.replicas, 1);
      assert.equal(scale.status?.replicas, 1);
      assert.equal(scale.status?.["selector"], "case=hpa");
      const { generation } = (await world.get("hpa-demo")).metadata;
      await world.scale("hpa-demo", 3);
      await world.untilAll("hpa-demo", 3);
      assert.equal((await world.get("hpa-demo")).metadata.generation, generation + 1);
      await world.scale("hpa-demo", 1);
      await world.untilAll("hpa-demo", 1);
      assert.equal((await world.get("hpa-demo")).metadata.generation, generation + 2);
    });
    await world.step("2 which kinds have it", async () => {
      const answer = await world.api.request("GET", "/apis/apps.kruise.io/v1beta1");
      const resources = isRecord(answer.body) ? answer.body["resources"] : undefined;
      assert.ok(Array.isArray(resources));
      const scaled = resources
        .map((resource) => (isRecord(resource) ? String(resource["name"]) : ""))
        .filter((name) => name.endsWith("/scale"));
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
      assert.equal((await world.get("hpa-demo")).spec?.replicas, 1);
    });
    world.skip("4 to 8", "needs an autoscaler with a metrics API whose usage can be set");
  },
};
