import assert from "node:assert/strict";
import { DaemonSet, onTwoNodes } from "./daemon_sets.ts";
import { conditionOf, imageOf, nameOf, nodeOf, onlyOf, uidOf } from "./items.ts";
import type { Suite } from "./suite.ts";

const hook = "my-pre-delete";
const state = "lifecycle.apps.kruise.io/state";

/** Spec daemonset, scenario 10 and rules 40 to 43. */
export const suite: Suite = {
  number: "d10",
  title: "Advanced DaemonSet: preDelete holds one pod at a time",
  needs: [],
  run: onTwoNodes(async (world, nodes) => {
    const hooked = new DaemonSet(world, "hooked");
    const preparing = async () =>
      (await hooked.pods()).filter(({ metadata }) => metadata.labels?.[state] === "PreparingDelete");
    const theHeld = async () => onlyOf(await preparing());
    await world.step("1 hooked pods run", async () => {
      await hooked.start(nodes, {
        templateLabels: { [hook]: "true" },
        rollingUpdate: { rollingUpdateType: "Standard", maxUnavailable: 1 },
        more: { lifecycle: { preDelete: { labelsHandler: { [hook]: "true" }, markPodNotReady: true } } },
      });
    });
    await world.step("2 exactly one is prepared, none is deleted", async () => {
      const before = (await hooked.pods()).map(uidOf);
      await hooked.toImage("nginx:1.21");
      await world.until("one is prepared", async () => void (await theHeld()));
      await world.stays(async () => {
        await theHeld();
        assert.deepEqual((await hooked.pods()).map(uidOf), before);
      }, 10_000);
      const held = await theHeld();
      assert.equal(nodeOf(held), nodes[1], "the highest name first");
      assert.match(held.metadata.annotations?.["lifecycle.apps.kruise.io/timestamp"] ?? "", /^\d{4}-/);
      const condition = conditionOf(held, "KruisePodReady");
      assert.equal(condition?.status, "False");
      assert.equal(condition?.message, '[{"userAgent":"Lifecycle","key":"preDeleteHook"}]');
    });
    await world.step("3 the template goes back, the pod does not", async () => {
      const held = await theHeld();
      await hooked.toImage("nginx:1.20");
      await world.stays(async () => assert.equal(uidOf(await theHeld()), uidOf(held)), 5_000);
      await hooked.toImage("nginx:1.21");
    });
    await world.step("4 released one after the other", async () => {
      for (const node of [nodes[1], nodes[0]]) {
        await world.until(`the pod of ${node} is held`, async () => {
          assert.equal(nodeOf(await theHeld()), node);
        });
        const held = await theHeld();
        await world.label(nameOf(held), { [hook]: null });
        await hooked.untilRenewed(held);
        assert.equal(imageOf(await hooked.podOn(node)), "nginx:1.21");
      }
      await hooked.untilAll(2);
    });
    await world.step("5 a set on its way out runs no hooks", async () => {
      await hooked.remove();
      await hooked.untilGone();
    });
    await world.step("6 the hook for updates is refused", async () => {
      const lifecycle = { inPlaceUpdate: { labelsHandler: { [hook]: "true" } } };
      const send = () => new DaemonSet(world, "refused").create({ nodes, more: { lifecycle } });
      const words = /spec\.lifecycle\.inPlaceUpdate: Forbidden: inPlaceUpdate hook has not supported yet$/;
      await world.refuses(500, send, words);
    });
  }),
};
