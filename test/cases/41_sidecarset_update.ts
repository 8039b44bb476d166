import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { byName, conditionOf, firstOf, identityOf, isGoing, nameOf, uidOf } from "./items.ts";
import { container, nativeWorkload } from "./manifests.ts";
import { runsOf, Sidecars } from "./sidecar_sets.ts";
import type { Suite } from "./suite.ts";
import { assertOneUnready } from "./trail.ts";
import type { World } from "./world.ts";

const labels = { case: "roll" };

const deployment = nativeWorkload("apps/v1", "Deployment", "roll", { more: { replicas: 4 } });

const spec = {
  selector: { matchLabels: labels },
  updateStrategy: { type: "RollingUpdate", maxUnavailable: 1, selector: { matchLabels: { canary: "true" } } },
  containers: [container("side", "busybox:1.32", { command: ["sleep", "999d"] })],
};

export const suite: Suite = {
  number: "41",
  title: "SidecarSet: image change in place; other changes wait for recreation",
  needs: [],
  async run(world) {
    const set = new Sidecars(world, "roll");
    await set.during(spec, () => run(world, set));
  },
};

async function run(world: World, set: Sidecars): Promise<void> {
  const pods = async () =>
    (await world.list("pods", "case=roll")).filter((pod) => !isGoing(pod)).sort(byName);
  const uids = async () => (await pods()).map(uidOf).sort();
  let before: readonly Item[] = [];
  await world.step("1 four pods, one of them the canary", async () => {
    await world.apply(deployment);
    await set.untilRow("4 4 4");
    await world.label(nameOf(firstOf(await pods())), { canary: "true" });
    before = await pods();
  });
  await world.step("2 only the selected pod is updated", async () => {
    await set.toImage("busybox:1.33");
    await set.untilRow("4 1 4");
    for (const pod of await pods()) {
      const isCanary = pod.metadata.labels?.["canary"] === "true";
      const side = isCanary ? "busybox:1.33 1" : "busybox:1.32 0";
      assert.deepEqual(runsOf(pod), { side, app: "nginx:1.20 0" });
    }
    assert.deepEqual((await pods()).map(identityOf), before.map(identityOf));
  });
  await world.step("3 a partition instead of the selector", async () => {
    await set.strategy({ selector: null, partition: "50%" });
    await set.untilRow("4 2 4");
  });
  await world.step("4 paused, then the rest one at a time", async () => {
    await set.strategy({ partition: 0, paused: true });
    await set.staysAt("4 2 4");
    const trail = await world.trail("pods", "case=roll");
    await set.strategy({ paused: false });
    await set.untilRow("4 4 4");
    assertOneUnready(await trail.stop(), 4);
    assert.deepEqual(await uids(), before.map(uidOf).sort());
    for (const pod of await pods()) {
      assert.deepEqual(runsOf(pod), { side: "busybox:1.33 1", app: "nginx:1.20 0" });
      assert.deepEqual(upgradable(pod), ["True", "AllSidecarsetUpgradable", `{"${set.name}":true}`]);
    }
  });
  await world.step("5 more than an image is left for recreation", async () => {
    const env = [{ name: "A", value: "1" }];
    await set.patch("json", [{ op: "add", path: "/spec/containers/0/env", value: env }]);
    await set.untilRow("4 0 4");
    await world.until("pods and set say so", async () => {
      for (const pod of await pods())
        assert.deepEqual(upgradable(pod), ["False", "UpdateImmutableField", `{"${set.name}":false}`]);
      const [event] = await set.events("NotUpgradablePods");
      const message =
        "SidecarSet in-place update detected 4 not upgradable pod(s) in this round, will skip them.";
      assert.deepEqual([event?.message, event?.source], [message, "sidecarset-controller"]);
    });
    await world.stays(async () => {
      for (const pod of await pods())
        assert.deepEqual(runsOf(pod), { side: "busybox:1.33 1", app: "nginx:1.20 0" });
    }, 5_000);
  });
  await world.step("6 a new pod has it", async () => {
    await world.remove("pods", nameOf(firstOf(await pods())));
    await set.untilRow("4 1 4");
    const made = (await pods()).filter((pod) => JSON.stringify(pod.spec?.containers).includes('"A"'));
    assert.equal(made.length, 1);
  });
  await world.step("7 a partition and a selector exclude each other", async () => {
    await world.refuses(
      500,
      () => set.strategy({ partition: 1, selector: { matchLabels: { canary: "true" } } }),
      "Partition and Selector cannot be used together",
    );
  });
}

function upgradable(pod: Item): unknown[] {
  const condition = conditionOf(pod, "SidecarSetUpgradable");
  return [condition?.status, condition?.reason, condition?.message];
}
