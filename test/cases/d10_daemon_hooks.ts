import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { Daemons, daemonSet } from "./daemon_sets.ts";
import type { Suite } from "./suite.ts";
import { conditionOf } from "./trail.ts";

const hook = "my-pre-delete";
const state = "lifecycle.apps.kruise.io/state";

/** Spec daemonset, scenario 10 and rules 40 to 43. */
export const suite: Suite = {
  number: "d10",
  title: "Advanced DaemonSet: preDelete holds one pod at a time",
  needs: [],
  async run(world) {
    const sets = new Daemons(world);
    const nodes = await sets.pair();
    if (nodes === undefined) return;
    const preparing = async (): Promise<Item[]> =>
      (await sets.pods("hooked")).filter((pod) => pod.metadata.labels?.[state] === "PreparingDelete");
    const release = (pod: Item) =>
      world.api.patch("pods", pod.metadata.name, world.namespace, "merge", {
        metadata: { labels: { [hook]: null } },
      });
    await world.step("1 hooked pods run", async () => {
      const manifest = daemonSet(world.version, {
        name: "hooked",
        nodes,
        rollingUpdate: { rollingUpdateType: "Standard", maxUnavailable: 1 },
        more: { lifecycle: { preDelete: { labelsHandler: { [hook]: "true" }, markPodNotReady: true } } },
      });
      await world.apply(labelled(manifest));
      await sets.untilRow("hooked 2 2 2 2 2");
    });
    await world.step("2 exactly one is prepared, none is deleted", async () => {
      const before = (await sets.pods("hooked")).map(({ metadata }) => metadata.uid).sort();
      await sets.toImage("hooked", "nginx:1.21");
      await world.until("one is prepared", async () => assert.equal((await preparing()).length, 1));
      await world.stays(async () => {
        assert.equal((await preparing()).length, 1);
        assert.deepEqual((await sets.pods("hooked")).map(({ metadata }) => metadata.uid).sort(), before);
      }, 10_000);
      const [held] = await preparing();
      assert.ok(held);
      assert.equal(held.spec?.nodeName, nodes[1], "the highest name first");
      assert.match(held.metadata.annotations?.["lifecycle.apps.kruise.io/timestamp"] ?? "", /^\d{4}-/);
      const condition = conditionOf(held, "KruisePodReady");
      assert.equal(condition?.status, "False");
      assert.equal(condition?.message, '[{"userAgent":"Lifecycle","key":"preDeleteHook"}]');
    });
    await world.step("3 the template goes back, the pod does not", async () => {
      const [held] = await preparing();
      await sets.toImage("hooked", "nginx:1.20");
      await world.stays(
        async () => assert.equal((await preparing())[0]?.metadata.uid, held?.metadata.uid),
        5_000,
      );
      await sets.toImage("hooked", "nginx:1.21");
    });
    await world.step("4 released one after the other", async () => {
      for (const node of [nodes[1], nodes[0]]) {
        await world.until(`the pod of ${node} is held`, async () => {
          assert.deepEqual(
            (await preparing()).map((pod) => pod.spec?.nodeName),
            [node],
          );
        });
        const [held] = await preparing();
        assert.ok(held);
        await release(held);
        await world.until(`a new pod on ${node}`, async () => {
          const pod = await sets.podOn("hooked", node);
          assert.notEqual(pod.metadata.uid, held.metadata.uid);
          assert.equal(pod.spec?.containers?.[0]?.image, "nginx:1.21");
        });
      }
      await sets.untilRow("hooked 2 2 2 2 2");
    });
    await world.step("5 a set on its way out runs no hooks", async () => {
      await world.remove(sets.resource, "hooked");
      await sets.untilGone("hooked");
    });
    await world.step("6 the hook for updates is refused", async () => {
      const lifecycle = { inPlaceUpdate: { labelsHandler: { [hook]: "true" } } };
      const manifest = daemonSet(world.version, { name: "refused", nodes, more: { lifecycle } });
      const message = await world.refused(() => world.apply(manifest), 500);
      assert.match(
        message,
        /spec\.lifecycle\.inPlaceUpdate: Forbidden: inPlaceUpdate hook has not supported yet$/,
      );
    });
  },
};

/** The template's pods carry the hook from the start. */
function labelled(manifest: object): object {
  const copy = structuredClone(manifest) as {
    spec: { template: { metadata: { labels: Record<string, string> } } };
  };
  copy.spec.template.metadata.labels[hook] = "true";
  return copy;
}
