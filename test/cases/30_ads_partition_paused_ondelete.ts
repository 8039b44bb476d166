import assert from "node:assert/strict";
import { DaemonSet, onTwoNodes } from "./daemon_sets.ts";
import { imagePatch, replacePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "30",
  title: "Advanced DaemonSet: partition, paused, OnDelete",
  needs: [],
  run: onTwoNodes(run),
};

const rollingUpdatePath = "/spec/updateStrategy/rollingUpdate";

async function run(world: World, nodes: readonly [string, string]): Promise<void> {
  const [first, second] = nodes;
  const batch = new DaemonSet(world, "batch");
  const untilHeld = async (row: string) => {
    await batch.untilRow(row);
    await batch.staysAt(row);
  };
  const assertTags = async (ofFirst: string, ofSecond: string) =>
    assert.deepEqual(await batch.tags(), { [first]: ofFirst, [second]: ofSecond });
  await world.step("1 a partition of more than there are nodes", async () => {
    await batch.start(nodes, { rollingUpdate: { rollingUpdateType: "Standard", partition: 10 } });
    await batch.toImage("nginx:1.21");
    await untilHeld("2 2 2 0 2");
  });
  await world.step("2 the highest name first", async () => {
    await batch.roll({ partition: 1 });
    await batch.untilRow("2 2 2 1 2");
    await assertTags("1.20", "1.21");
  });
  await world.step("3 a deleted pod comes back new", async () => {
    await batch.removePodOn(first);
    await batch.untilAll(2);
    await assertTags("1.21", "1.21");
  });
  await world.step("4 paused", async () => {
    await batch.patch("json", [
      ...imagePatch("nginx:1.22"),
      ...replacePatch(`${rollingUpdatePath}/partition`, 0),
      { op: "add", path: `${rollingUpdatePath}/paused`, value: true },
    ]);
    await untilHeld("2 2 2 0 2");
    await batch.removePodOn(second);
    await batch.untilRow("2 2 2 1 2");
    await assertTags("1.21", "1.22");
  });
  await world.step("5 resumed", async () => {
    await batch.roll({ paused: false });
    await batch.untilAll(2);
    await assertTags("1.22", "1.22");
  });
  await world.step("6 a percentage is rounded down", async () => {
    const half = replacePatch(`${rollingUpdatePath}/partition`, "50%");
    await batch.patch("json", [...imagePatch("nginx:1.20"), ...half]);
    await batch.untilRow("2 2 2 1 2");
    await assertTags("1.22", "1.20");
    const words = "spec.updateStrategy.rollingUpdate.rollingUpdate.partition: Invalid value: -1";
    await world.refuses(422, () => batch.roll({ partition: -1 }), words);
  });
  await world.step("7 OnDelete", async () => {
    await batch.mergeSpec({ updateStrategy: { type: "OnDelete", rollingUpdate: null } });
    await batch.toImage("nginx:1.21");
    await untilHeld("2 2 2 0 2");
    await batch.removePodOn(first);
    await batch.untilRow("2 2 2 1 2");
    await assertTags("1.21", "1.20");
  });
}
