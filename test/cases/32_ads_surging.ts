import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { DaemonSet, daemonSet, onTwoNodes } from "./daemon_sets.ts";
import { assertAllNew, conditionOf, nameOf, nodeOf, reportsReady, uidOf } from "./items.ts";
import type { Suite } from "./suite.ts";
import { isPresent, type Moment, presences } from "./trail.ts";
import type { World } from "./world.ts";

const rollingUpdate = { rollingUpdateType: "Surging" };

export const suite: Suite = {
  number: "32",
  title: "Advanced DaemonSet: the new pod before the old one goes (surge)",
  needs: [],
  versions: ["v1alpha1"],
  run: onTwoNodes(run),
};

async function run(world: World, nodes: readonly [string, string]): Promise<void> {
  const minReadySeconds = world.seconds(5, 2);
  const overlap = new DaemonSet(world, "overlap");
  await world.step("1 stored as two numbers", async () => {
    await overlap.start(nodes, { rollingUpdate, more: { minReadySeconds } });
    const stored = { rollingUpdateType: "Standard", maxSurge: 1, maxUnavailable: 0 };
    for (const version of ["v1alpha1", "v1beta1"] as const) {
      const { spec } = await overlap.get(version);
      assert.deepEqual(spec?.updateStrategy?.["rollingUpdate"], stored);
    }
  });
  await world.step("2 one node at a time", async () => {
    const pairs = await rollOut(overlap, "nginx:1.21", minReadySeconds);
    assert.equal(pairs, 1, `${pairs} nodes had two pods at the same time`);
  });
  await world.step("3 all nodes at once", async () => {
    await overlap.roll({ maxSurge: "100%" });
    assert.equal(await rollOut(overlap, "nginx:1.22", minReadySeconds), 2);
  });
  await world.step("4 refused in v1beta1", () =>
    world.refuses(
      500,
      () => world.apply(daemonSet("v1beta1", { name: "overlap-beta", rollingUpdate })),
      /spec\.updateStrategy\.rollingUpdate\.rollingUpdate\.type: Unsupported value: "Surging": supported values: "Standard", "InPlaceIfPossible"$/,
    ),
  );
}

/** Rolls out and says on how many nodes two pods lived at the same time. */
async function rollOut(overlap: DaemonSet, image: string, minReadySeconds: number): Promise<number> {
  const before = await overlap.pods();
  const trail = await overlap.trail();
  await overlap.toImage(image);
  await overlap.world.within(120_000, "two new pods and no other", async () => {
    assertAllNew(await overlap.pods(), before);
    assert.equal(await overlap.row(), "2 2 2 2 2");
  });
  return mostPairs(await trail.stop(), new Set(before.map(uidOf)), minReadySeconds);
}

/** No node is ever without a Ready pod, and no old pod goes before the new one was Ready for long enough. */
function mostPairs(moments: readonly Moment[], before: ReadonlySet<string>, minReadySeconds: number): number {
  let most = 0;
  for (const { moment, pods } of presences(moments)) {
    if (moment.type === "PRESENT") continue;
    const placed = pods.filter((pod) => isPresent(pod) && placeOf(pod) !== "");
    const byNode = Map.groupBy(placed, placeOf);
    for (const [node, living] of byNode) {
      assert.ok(living.length <= 2, `${living.length} pods on ${node}`);
      assert.ok(living.some(reportsReady), `no Ready pod on ${node} after ${nameOf(moment.object)}`);
      const [only] = living;
      if (living.length > 1 || only === undefined || before.has(uidOf(only))) continue;
      const since = Date.parse(conditionOf(only, "Ready")?.lastTransitionTime ?? "");
      // Condition times are cut to whole seconds, so only the next one proves the whole time.
      const needed = minReadySeconds * 1000 + 1000;
      assert.ok(moment.at - since >= needed, `the old pod of ${node} went too early`);
    }
    most = Math.max(most, [...byNode.values()].filter((living) => living.length > 1).length);
  }
  return most;
}

/** Where the pod runs or will run. */
function placeOf(pod: Item): string {
  const required = Object(pod.spec?.["affinity"]).nodeAffinity
    ?.requiredDuringSchedulingIgnoredDuringExecution;
  return nodeOf(pod) ?? required?.nodeSelectorTerms?.[0]?.matchFields?.[0]?.values?.[0] ?? "";
}
