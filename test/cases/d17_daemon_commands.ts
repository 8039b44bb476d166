import assert from "node:assert/strict";
import { DaemonSet, onTwoNodes } from "./daemon_sets.ts";
import { assertAllNew, nameOf } from "./items.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const set = "ads/tree-ds";
const name = "daemonset.apps.kruise.io/tree-ds";
const rolledOut = 'daemon set "tree-ds" successfully rolled out';

/** What case 17 does with CloneSet, and the tree of case 18. */
export const suite: Suite = {
  number: "d17",
  title: "Advanced DaemonSet: rollout commands, plan, why and tree",
  needs: [],
  versions: ["v1beta1"],
  run: onTwoNodes(async (world, nodes) => {
    const tree = new DaemonSet(world, "tree-ds");
    const rollout = (verb: string) => world.refitLines("rollout", verb, set);
    await world.step("1 status, history, tree", async () => {
      await tree.create({ nodes });
      assert.equal((await rollout("status")).at(-1), rolledOut);
      await tree.untilAll(2);
      assert.deepEqual(await numbersOf(world), ["1"]);
      await checkTree(tree);
    });
    await world.step("2 pause, plan, why", async () => {
      assert.deepEqual(await rollout("pause"), [`${name} paused`]);
      assert.match((await world.refit("rollout", "pause", set)).stderr, /is already paused/);
      await tree.toImage("nginx:1.21");
      await tree.untilRow("2 2 2 0 2");
      const why = (await world.refitAnswer(3, "why", set)).join("\n");
      assert.match(why, /Paused +2 nodes are held at an old revision by paused/);
      const plan = (await world.refitLines("plan", set)).join("\n");
      assert.match(plan, /2 pods for 2 nodes, 0 at revision/);
      assert.deepEqual(await rollout("resume"), [`${name} resumed`]);
      assert.equal((await rollout("status")).at(-1), rolledOut);
      await tree.untilAll(2);
    });
    await world.step("3 undo: the first revision moves to the top", async () => {
      assert.deepEqual(await numbersOf(world), ["1", "2"]);
      assert.deepEqual(await rollout("undo"), [`${name} rolled back`]);
      await rollout("status");
      await tree.untilAll(2);
      assert.deepEqual([...new Set(Object.values(await tree.tags()))], ["1.20"]);
      assert.deepEqual(await numbersOf(world), ["2", "3"]);
    });
    await world.step("4 restart recreates", async () => {
      const before = await tree.pods();
      assert.deepEqual(await rollout("restart"), [`${name} restarted`]);
      await world.until("all are new", async () => {
        assertAllNew(await tree.pods(), before);
        assert.equal(await tree.row(), "2 2 2 2 2");
      });
    });
  }),
};

async function numbersOf(world: World): Promise<string[]> {
  const rows = await world.refitLines("rollout", "history", set);
  return rows.flatMap((row) => /^(\d+)\s/.exec(row)?.[1] ?? []);
}

async function checkTree(tree: DaemonSet): Promise<void> {
  const rows = await tree.world.refitLines("tree", set);
  const plain = rows.slice(1).map((row) => row.replaceAll(/[^\x20-\x7e]/g, "").trim());
  const owned = plain.map((row) => row.split(/\s+/).slice(1, 3).join(" "));
  const [root = "", revision = "", ...pods] = owned;
  assert.equal(owned.length, 4, rows.join("\n"));
  assert.equal(root, "DaemonSet/tree-ds 2/2");
  assert.match(revision, /^ControllerRevision\/tree-ds-[a-z0-9]+ /);
  assert.deepEqual(
    pods,
    (await tree.pods()).map((pod) => `Pod/${nameOf(pod)} True`),
  );
}
