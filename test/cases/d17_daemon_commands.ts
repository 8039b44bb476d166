import assert from "node:assert/strict";
import { Daemons, daemonSet } from "./daemon_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

/** What case 17 does with CloneSet, and the tree of case 18. */
export const suite: Suite = {
  number: "d17",
  title: "Advanced DaemonSet: rollout commands, plan, why and tree",
  needs: [],
  versions: ["v1beta1"],
  async run(world) {
    const sets = new Daemons(world);
    const nodes = await sets.pair();
    if (nodes === undefined) return;
    await world.step("1 status, history, tree", async () => {
      await world.apply(daemonSet(world.version, { name: "tree-ds", nodes }));
      const lines = await command(world, "rollout", "status", "ads/tree-ds");
      assert.equal(lines.at(-1), 'daemon set "tree-ds" successfully rolled out');
      await sets.untilRow("tree-ds 2 2 2 2 2");
      assert.deepEqual(await numbers(world), ["1"]);
      await checkTree(world, sets);
    });
    await world.step("2 pause, plan, why", async () => {
      const name = "daemonset.apps.kruise.io/tree-ds";
      assert.deepEqual(await command(world, "rollout", "pause", "ads/tree-ds"), [`${name} paused`]);
      assert.match((await world.refit("rollout", "pause", "ads/tree-ds")).stderr, /is already paused/);
      await sets.toImage("tree-ds", "nginx:1.21");
      await sets.untilRow("tree-ds 2 2 2 0 2");
      const why = (await command(world, "why", "ads/tree-ds")).join("\n");
      assert.match(why, /Paused +2 nodes are held at an old revision by paused/);
      const plan = (await command(world, "plan", "ads/tree-ds")).join("\n");
      assert.match(plan, /2 pods for 2 nodes, 0 at revision/);
      assert.deepEqual(await command(world, "rollout", "resume", "ads/tree-ds"), [`${name} resumed`]);
      const lines = await command(world, "rollout", "status", "ads/tree-ds");
      assert.equal(lines.at(-1), 'daemon set "tree-ds" successfully rolled out');
      await sets.untilRow("tree-ds 2 2 2 2 2");
    });
    await world.step("3 undo: the first revision moves to the top", async () => {
      assert.deepEqual(await numbers(world), ["1", "2"]);
      assert.deepEqual(await command(world, "rollout", "undo", "ads/tree-ds"), [
        "daemonset.apps.kruise.io/tree-ds rolled back",
      ]);
      await command(world, "rollout", "status", "ads/tree-ds");
      await sets.untilRow("tree-ds 2 2 2 2 2");
      assert.deepEqual([...new Set(Object.values(await sets.tags("tree-ds")))], ["1.20"]);
      assert.deepEqual(await numbers(world), ["2", "3"]);
    });
    await world.step("4 restart recreates", async () => {
      const before = (await sets.pods("tree-ds")).map(({ metadata }) => metadata.uid);
      assert.deepEqual(await command(world, "rollout", "restart", "ads/tree-ds"), [
        "daemonset.apps.kruise.io/tree-ds restarted",
      ]);
      await world.until("all are new", async () => {
        const after = await sets.pods("tree-ds");
        assert.ok(after.every(({ metadata }) => !before.includes(metadata.uid)));
        assert.equal(await sets.row("tree-ds"), "tree-ds 2 2 2 2 2");
      });
    });
  },
};

async function command(world: World, ...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await world.refit(...words);
  assert.equal(code, 0, `${words.join(" ")}: ${stdout}${stderr}`);
  return stdout.trimEnd().split("\n");
}

async function numbers(world: World): Promise<string[]> {
  const rows = await command(world, "rollout", "history", "ads/tree-ds");
  return rows.flatMap((row) => /^(\d+)\s/.exec(row)?.[1] ?? []);
}

async function checkTree(world: World, sets: Daemons): Promise<void> {
  const rows = await command(world, "tree", "ads/tree-ds");
  const owned = rows.slice(1).map((row) =>
    row
      .replaceAll(/[^\x20-\x7e]/g, "")
      .trim()
      .split(/\s+/),
  );
  const pods = (await sets.pods("tree-ds")).map(({ metadata }) => metadata.name);
  assert.equal(owned.length, 4, rows.join("\n"));
  assert.deepEqual([owned[0]?.[1], owned[0]?.[2]], ["DaemonSet/tree-ds", "-"]);
  assert.match(owned[1]?.[1] ?? "", /^ControllerRevision\/tree-ds-[a-z0-9]+$/);
  assert.deepEqual(
    owned.slice(2).map((cells) => [cells[1], cells[2]]),
    pods.map((name) => [`Pod/${name}`, "True"]),
  );
}
