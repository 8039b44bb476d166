import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { Daemons, daemonSet, isReady } from "./daemon_sets.ts";
import type { Suite } from "./suite.ts";
import type { Moment } from "./trail.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "31",
  title: "Advanced DaemonSet: update in place",
  needs: [],
  async run(world) {
    const sets = new Daemons(world);
    const nodes = await sets.pair();
    if (nodes !== undefined) await run(world, sets, nodes);
  },
};

async function run(world: World, sets: Daemons, nodes: readonly [string, string]): Promise<void> {
  await world.step("1 the gate is added by itself", async () => {
    const rollingUpdate = { rollingUpdateType: "InPlaceIfPossible" };
    const labels = { "k8s-app": "nginx" };
    await world.apply(daemonSet(world.version, { name: "nginx", labels, nodes, rollingUpdate }));
    await sets.untilRow("nginx 2 2 2 2 2");
    await checkGates(sets);
  });
  await world.step("2 an image in place, one after the other", async () => {
    const before = (await sets.pods("nginx")).map(identity);
    const trail = await world.trail("pods", "k8s-app=nginx");
    await sets.toImage("nginx", "nginx:1.21");
    await world.until("both at 1.21", async () => {
      assert.deepEqual(Object.values(await sets.tags("nginx")), ["1.21", "1.21"]);
      assert.equal(await sets.row("nginx"), "nginx 2 2 2 2 2");
    });
    const after = await sets.pods("nginx");
    assert.deepEqual(after.map(identity), before);
    assert.deepEqual(after.map(restarts), [1, 1]);
    checkOneAfterTheOther(await trail.stop());
    // Events yield to all other writes.
    await world.until("all events are recorded", () => checkEvents(sets, after), { stableMs: 0 });
  });
  await world.step("3 anything else recreates", async () => {
    const before = await sets.pods("nginx");
    await sets.patch("nginx", "json", [
      { op: "add", path: "/spec/template/spec/containers/0/env", value: [{ name: "A", value: "b" }] },
    ]);
    await world.until("two new pods", async () => {
      const uids = (await sets.pods("nginx")).map((pod) => pod.metadata.uid);
      assert.ok(before.every((pod) => !uids.includes(pod.metadata.uid)));
      assert.equal(await sets.row("nginx"), "nginx 2 2 2 2 2");
    });
    await checkGates(sets);
    assert.deepEqual((await sets.pods("nginx")).map(restarts), [0, 0]);
  });
  await world.step("4 no surge in place", async () => {
    const path = "spec.updateStrategy.rollingUpdate.maxSurge";
    const both = await world.refused(() => sets.roll("nginx", { maxSurge: 1 }), 422);
    assert.ok(
      both.includes(
        `[${path}: Invalid value: 1: may not be set when maxUnavailable is non-zero, ` +
          `${path}: Required value: must be 0 for InPlaceIfPossible type]`,
      ),
      both,
    );
    const one = await world.refused(() => sets.roll("nginx", { maxSurge: 1, maxUnavailable: 0 }), 422);
    assert.ok(one.endsWith(`${path}: Required value: must be 0 for InPlaceIfPossible type`), one);
  });
}

async function checkGates(sets: Daemons): Promise<void> {
  for (const pod of await sets.pods("nginx")) {
    const gates = pod.spec?.readinessGates?.map((gate) => gate.conditionType).sort();
    assert.deepEqual(gates, ["InPlaceUpdateReady", "KruisePodReady"]);
  }
}

function identity({ metadata, spec, status }: Item): unknown {
  return [metadata.name, metadata.uid, spec?.nodeName, status?.podIP];
}

function restarts(pod: Item): number {
  return pod.status?.containerStatuses?.[0]?.restartCount ?? -1;
}

function checkOneAfterTheOther(moments: readonly Moment[]): void {
  const pods = new Map<string, Item>();
  for (const { object } of moments) {
    pods.set(object.metadata.uid, object);
    if (pods.size < 2) continue;
    const unready = [...pods.values()].filter((pod) => !isReady(pod));
    assert.ok(unready.length <= 1, `${unready.map((pod) => pod.metadata.name).join(" and ")} at once`);
  }
}

async function checkEvents(sets: Daemons, updated: readonly Item[]): Promise<void> {
  const events = await sets.events("nginx");
  assert.equal(events.filter(({ reason }) => reason === "SuccessfulCreate").length, 2);
  assert.deepEqual(
    events
      .filter(({ reason }) => reason === "SuccessfulUpdatePodInPlace")
      .map(({ message }) => message)
      .sort(),
    updated.map(({ metadata }) => `successfully update pod ${metadata.name} in-place`),
  );
  assert.equal(events.filter(({ reason }) => reason === "SuccessfulDelete").length, 0);
}
