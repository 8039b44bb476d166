import assert from "node:assert/strict";
import { DaemonSet, onNodes, onTwoNodes } from "./daemon_sets.ts";
import { isGoing, nameOf, nodeOf } from "./items.ts";
import { imagePatch, replacePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";

/** Stands for a node that does not answer: its pod is deleted, but does not go. */
const finalizer = "case.refit.dev/stuck";

export const suite: Suite = {
  number: "d56",
  title: "Advanced DaemonSet: nodes that are no longer wanted take no room",
  needs: [],
  gates: "DaemonSetPruneIneligibleNodes=true",
  run: onTwoNodes(async (world, nodes) => {
    const [kept, excluded] = nodes;
    const narrow = new DaemonSet(world, "narrow");
    const hold = async (finalizers: string[] | null) => {
      const name = nameOf(await narrow.podOn(excluded));
      await world.patch("pods", name, "merge", { metadata: { finalizers } });
    };
    await world.step("1 one pod a node, one of them stuck", async () => {
      await narrow.start(nodes, { rollingUpdate: { maxUnavailable: 1 } });
      await hold([finalizer]);
    });
    await world.step("2 the others go on beside it", async () => {
      const elsewhere = replacePatch("/spec/template/spec/affinity", onNodes([kept]));
      await narrow.patch("json", [...imagePatch("nginx:1.21"), ...elsewhere]);
      await world.until("the node that is left is updated", async () => {
        assert.deepEqual((await narrow.pods()).filter(isGoing).map(nodeOf), [excluded]);
        assert.equal(await narrow.row(), "1 1 1 1 1");
        assert.equal((await narrow.tags())[kept], "1.21");
      });
    });
    await world.step("3 and nothing is left of it", async () => {
      await hold(null);
      await narrow.untilAll(1);
      assert.equal((await narrow.pods()).length, 1);
    });
  }),
};
