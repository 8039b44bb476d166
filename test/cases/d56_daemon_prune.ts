import assert from "node:assert/strict";
import { Daemons, daemonSet, onNodes } from "./daemon_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

/** Stands for a node that does not answer: its pod is deleted, but does not go. */
const finalizer = "case.refit.dev/stuck";

export const suite: Suite = {
  number: "d56",
  title: "Advanced DaemonSet: nodes that are no longer wanted take no room",
  needs: [],
  gates: "DaemonSetPruneIneligibleNodes=true",
  async run(world) {
    const sets = new Daemons(world);
    const nodes = await sets.pair();
    if (nodes !== undefined) await run(world, sets, nodes);
  },
};

async function run(world: World, sets: Daemons, nodes: readonly [string, string]): Promise<void> {
  const [kept, excluded] = nodes;
  const hold = async (finalizers: string[] | null) => {
    const pod = (await sets.pods("narrow")).find(({ spec }) => spec?.nodeName === excluded);
    assert.ok(pod);
    await world.api.patch("pods", pod.metadata.name, world.namespace, "merge", { metadata: { finalizers } });
  };
  await world.step("1 one pod a node, one of them stuck", async () => {
    const rollingUpdate = { maxUnavailable: 1 };
    await world.apply(daemonSet(world.version, { name: "narrow", nodes, rollingUpdate }));
    await sets.untilRow("narrow 2 2 2 2 2");
    await hold([finalizer]);
  });
  await world.step("2 the others go on beside it", async () => {
    const path = "/spec/template/spec";
    await sets.patch("narrow", "json", [
      { op: "replace", path: `${path}/containers/0/image`, value: "nginx:1.21" },
      { op: "replace", path: `${path}/affinity`, value: onNodes([kept]) },
    ]);
    await world.until("the node that is left is updated", async () => {
      const pods = await sets.pods("narrow");
      const going = pods.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
      assert.deepEqual(
        going.map(({ spec }) => spec?.nodeName),
        [excluded],
      );
      assert.equal(await sets.row("narrow"), "narrow 1 1 1 1 1");
      assert.equal((await sets.tags("narrow"))[kept], "1.21");
    });
  });
  await world.step("3 and nothing is left of it", async () => {
    await hold(null);
    await sets.untilRow("narrow 1 1 1 1 1");
    assert.equal((await sets.pods("narrow")).length, 1);
  });
}
