import assert from "node:assert/strict";
import { Daemons, daemonSet } from "./daemon_sets.ts";
import { imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "30",
  title: "Advanced DaemonSet: partition, paused, OnDelete",
  needs: [],
  async run(world) {
    const sets = new Daemons(world);
    const nodes = await sets.pair();
    if (nodes !== undefined) await run(world, sets, nodes);
  },
};

async function run(world: World, sets: Daemons, nodes: readonly [string, string]): Promise<void> {
  const [first, second] = nodes;
  const removePodOn = async (node: string) =>
    world.remove("pods", (await sets.podOn("batch", node)).metadata.name);
  await world.step("1 a partition of more than there are nodes", async () => {
    const rollingUpdate = { rollingUpdateType: "Standard", partition: 10 };
    await world.apply(daemonSet(world.version, { name: "batch", nodes, rollingUpdate }));
    await sets.untilRow("batch 2 2 2 2 2");
    await sets.toImage("batch", "nginx:1.21");
    await sets.untilRow("batch 2 2 2 0 2");
    await sets.staysAt("batch 2 2 2 0 2");
  });
  await world.step("2 the highest name first", async () => {
    await sets.roll("batch", { partition: 1 });
    await sets.untilRow("batch 2 2 2 1 2");
    assert.deepEqual(await sets.tags("batch"), { [first]: "1.20", [second]: "1.21" });
  });
  await world.step("3 a deleted pod comes back new", async () => {
    await removePodOn(first);
    await sets.untilRow("batch 2 2 2 2 2");
    assert.deepEqual(await sets.tags("batch"), { [first]: "1.21", [second]: "1.21" });
  });
  await world.step("4 paused", async () => {
    await sets.patch("batch", "json", [
      ...imagePatch("nginx:1.22"),
      { op: "replace", path: "/spec/updateStrategy/rollingUpdate/partition", value: 0 },
      { op: "add", path: "/spec/updateStrategy/rollingUpdate/paused", value: true },
    ]);
    await sets.untilRow("batch 2 2 2 0 2");
    await sets.staysAt("batch 2 2 2 0 2");
    await removePodOn(second);
    await sets.untilRow("batch 2 2 2 1 2");
    assert.deepEqual(await sets.tags("batch"), { [first]: "1.21", [second]: "1.22" });
  });
  await world.step("5 resumed", async () => {
    await sets.roll("batch", { paused: false });
    await sets.untilRow("batch 2 2 2 2 2");
    assert.deepEqual(await sets.tags("batch"), { [first]: "1.22", [second]: "1.22" });
  });
  await world.step("6 a percentage is rounded down", async () => {
    await sets.patch("batch", "json", [
      ...imagePatch("nginx:1.20"),
      { op: "replace", path: "/spec/updateStrategy/rollingUpdate/partition", value: "50%" },
    ]);
    await sets.untilRow("batch 2 2 2 1 2");
    assert.deepEqual(await sets.tags("batch"), { [first]: "1.22", [second]: "1.20" });
    const message = await world.refused(() => sets.roll("batch", { partition: -1 }), 422);
    assert.match(message, /spec\.updateStrategy\.rollingUpdate\.rollingUpdate\.partition: Invalid value: -1/);
  });
  await world.step("7 OnDelete", async () => {
    await sets.patch("batch", "merge", {
      spec: { updateStrategy: { type: "OnDelete", rollingUpdate: null } },
    });
    await sets.toImage("batch", "nginx:1.21");
    await sets.untilRow("batch 2 2 2 0 2");
    await sets.staysAt("batch 2 2 2 0 2");
    await removePodOn(first);
    await sets.untilRow("batch 2 2 2 1 2");
    assert.deepEqual(await sets.tags("batch"), { [first]: "1.21", [second]: "1.20" });
  });
}
