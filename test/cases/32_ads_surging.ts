import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { Daemons, daemonSet, isReady } from "./daemon_sets.ts";
import { imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { Moment } from "./trail.ts";
import { isPresent } from "./trail.ts";
import type { World } from "./world.ts";

export const suite: Suite = {
  number: "32",
  title: "Advanced DaemonSet: the new pod before the old one goes (surge)",
  needs: [],
  versions: ["v1alpha1"],
  async run(world) {
    const sets = new Daemons(world);
    const nodes = await sets.pair();
    if (nodes !== undefined) await run(world, sets, nodes);
  },
};

async function run(world: World, sets: Daemons, nodes: readonly [string, string]): Promise<void> {
  const minReadySeconds = world.seconds(5, 2);
  await world.step("1 stored as two numbers", async () => {
    const rollingUpdate = { rollingUpdateType: "Surging" };
    const more = { minReadySeconds };
    await world.apply(daemonSet("v1alpha1", { name: "overlap", nodes, rollingUpdate, more }));
    await sets.untilRow("overlap 2 2 2 2 2");
    for (const version of ["v1alpha1", "v1beta1"]) {
      const resource = `daemonsets.${version}.apps.kruise.io`;
      const { spec } = await world.api.get(resource, "overlap", world.namespace);
      assert.deepEqual(spec?.updateStrategy?.["rollingUpdate"], {
        rollingUpdateType: "Standard",
        maxSurge: 1,
        maxUnavailable: 0,
      });
    }
  });
  await world.step("2 one node at a time", async () => {
    const { pairs } = await rollout(world, sets, imagePatch("nginx:1.21"), minReadySeconds);
    assert.equal(pairs, 1, `${pairs} nodes had two pods at the same time`);
  });
  await world.step("3 all nodes at once", async () => {
    await sets.roll("overlap", { maxSurge: "100%" });
    const { pairs } = await rollout(world, sets, imagePatch("nginx:1.22"), minReadySeconds);
    assert.equal(pairs, 2);
  });
  await world.step("4 refused in v1beta1", async () => {
    const rollingUpdate = { rollingUpdateType: "Surging" };
    const manifest = daemonSet("v1beta1", { name: "overlap-beta", rollingUpdate });
    const message = await world.refused(() => world.apply(manifest), 500);
    assert.match(
      message,
      /spec\.updateStrategy\.rollingUpdate\.rollingUpdate\.type: Unsupported value: "Surging": supported values: "Standard", "InPlaceIfPossible"$/,
    );
  });
}

/** Rolls out and says on how many nodes two pods lived at the same time. */
async function rollout(
  world: World,
  sets: Daemons,
  patch: object[],
  minReadySeconds: number,
): Promise<{ pairs: number }> {
  const before = new Set((await sets.pods("overlap")).map((pod) => pod.metadata.uid));
  const trail = await world.trail("pods", "case=overlap");
  await sets.patch("overlap", "json", patch);
  await world.until(
    "two new pods and no other",
    async () => {
      const pods = await sets.pods("overlap");
      assert.equal(pods.filter((pod) => before.has(pod.metadata.uid)).length, 0);
      assert.equal(await sets.row("overlap"), "overlap 2 2 2 2 2");
    },
    { timeoutMs: 120_000 },
  );
  return { pairs: mostPairs(await trail.stop(), before, minReadySeconds) };
}

/** No node is ever without a Ready pod, and no old pod goes before the new one was Ready for long enough. */
function mostPairs(moments: readonly Moment[], before: ReadonlySet<string>, minReadySeconds: number): number {
  const pods = new Map<string, Item>();
  let most = 0;
  for (const { at, type, object } of moments) {
    if (type === "DELETED") pods.delete(object.metadata.uid);
    else pods.set(object.metadata.uid, object);
    if (type === "PRESENT") continue;
    const byNode = Map.groupBy(
      [...pods.values()].filter((pod) => isPresent(pod) && nodeOf(pod) !== ""),
      nodeOf,
    );
    for (const [node, living] of byNode) {
      assert.ok(living.length <= 2, `${living.length} pods on ${node}`);
      assert.ok(living.some(isReady), `no Ready pod on ${node} after ${object.metadata.name}`);
      const [only] = living;
      if (living.length > 1 || only === undefined || before.has(only.metadata.uid)) continue;
      const since = Date.parse(
        only.status?.conditions?.find((one) => one.type === "Ready")?.lastTransitionTime ?? "",
      );
      // Condition times are cut to whole seconds, so only the next one proves the whole time.
      assert.ok(at - since >= minReadySeconds * 1000 + 1000, `the old pod of ${node} went too early`);
    }
    most = Math.max(most, [...byNode.values()].filter((living) => living.length > 1).length);
  }
  return most;
}

/** Where the pod runs or will run. */
function nodeOf({ spec }: Item): string {
  if (spec?.nodeName) return spec.nodeName;
  const { affinity } = (spec ?? {}) as {
    affinity?: { nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: NodeTerms } };
  };
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required?.nodeSelectorTerms?.[0]?.matchFields?.[0]?.values?.[0] ?? "";
}

interface NodeTerms {
  nodeSelectorTerms?: { matchFields?: { values?: string[] }[] }[];
}
