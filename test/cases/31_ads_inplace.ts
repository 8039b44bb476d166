import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { DaemonSet, onTwoNodes } from "./daemon_sets.ts";
import { assertAllNew, identityOf, nameOf, restartsOf } from "./items.ts";
import { environmentPatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { assertOneUnready } from "./trail.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "31",
  title: "Advanced DaemonSet: update in place",
  needs: [],
  run: onTwoNodes(run),
};

async function run(world: World, nodes: readonly [string, string]): Promise<void> {
  const set = new DaemonSet(world, "nginx");
  await world.step("1 the gate is added by itself", async () => {
    const rollingUpdate = { rollingUpdateType: "InPlaceIfPossible" };
    await set.start(nodes, { labels: { "k8s-app": "nginx" }, rollingUpdate });
    await checkGates(set);
  });
  await world.step("2 an image in place, one after the other", async () => {
    const before = (await set.pods()).map(identityOf);
    const trail = await set.trail("k8s-app=nginx");
    await set.toImage("nginx:1.21");
    await set.untilAt("1.21", "2 2 2 2 2", { timeoutMs: 60_000 });
    const after = await set.pods();
    assert.deepEqual(after.map(identityOf), before);
    assert.deepEqual(after.map(restartsOf), [1, 1]);
    assertOneUnready(await trail.stop(), 2);
    // Events yield to all other writes.
    await world.once("all events are recorded", () => checkEvents(set, after));
  });
  await world.step("3 anything else recreates", async () => {
    const before = await set.pods();
    await set.patch("json", environmentPatch([{ name: "A", value: "b" }]));
    await world.until("two new pods", async () => {
      assertAllNew(await set.pods(), before);
      assert.equal(await set.row(), "2 2 2 2 2");
    });
    await checkGates(set);
    assert.deepEqual((await set.pods()).map(restartsOf), [0, 0]);
  });
  await world.step("4 no surge in place", async () => {
    const path = "spec.updateStrategy.rollingUpdate.maxSurge";
    const required = `${path}: Required value: must be 0 for InPlaceIfPossible type`;
    await world.refuses(
      422,
      () => set.roll({ maxSurge: 1 }),
      `[${path}: Invalid value: 1: may not be set when maxUnavailable is non-zero, ${required}]`,
    );
    const one = await world.refused(() => set.roll({ maxSurge: 1, maxUnavailable: 0 }), 422);
    assert.ok(one.endsWith(required), one);
  });
}

async function checkGates(set: DaemonSet): Promise<void> {
  for (const pod of await set.pods()) {
    const gates = pod.spec?.readinessGates?.map((gate) => gate.conditionType).sort();
    assert.deepEqual(gates, ["InPlaceUpdateReady", "KruisePodReady"]);
  }
}

async function checkEvents(set: DaemonSet, updated: readonly Item[]): Promise<void> {
  assert.equal((await set.events("SuccessfulCreate")).length, 2);
  const messages = (await set.events("SuccessfulUpdatePodInPlace")).map(({ message }) => message).sort();
  const expected = updated.map((pod) => `successfully update pod ${nameOf(pod)} in-place`);
  assert.deepEqual(messages, expected);
  assert.equal((await set.events("SuccessfulDelete")).length, 0);
}
