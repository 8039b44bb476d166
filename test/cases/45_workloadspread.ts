import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { Handle } from "./handle.ts";
import { records, uidOf } from "./items.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const MATCHED = "apps.kruise.io/matched-workloadspread";
const COST = "controller.kubernetes.io/pod-deletion-cost";
const WORKLOAD = "elastic";

function zoned(zone: string): object {
  return { matchExpressions: [{ key: "zone", operator: "In", values: [zone] }] };
}

function createSpread(spread: Handle): Promise<Item> {
  const { version } = spread.world;
  const term = version === "v1alpha1" ? "requiredNodeSelectorTerm" : "requiredNodeSelector";
  const patch = { metadata: { labels: { pool: "fixed" } } };
  return spread.apply({
    targetRef: { apiVersion: `apps.kruise.io/${version}`, kind: "CloneSet", name: WORKLOAD },
    subsets: [
      { name: "fixed", [term]: zoned("zone-a"), maxReplicas: 2, patch },
      { name: "elastic", [term]: zoned("zone-b") },
    ],
  });
}

function spreadOf(world: World, name = "spread"): Handle {
  return new Handle(world, "WorkloadSpread", name);
}

function subsetOf(pod: Item): string {
  const match = JSON.parse(pod.metadata.annotations?.[MATCHED] ?? "{}");
  return match.name === "spread" ? String(match.subset) : "";
}

function uids(pods: readonly Item[]): string[] {
  return pods.map(uidOf).sort();
}

async function inSubset(clone: CloneSet, subset: string): Promise<Item[]> {
  return (await clone.livePods()).filter((pod) => subsetOf(pod) === subset);
}

interface Status {
  name?: string;
  replicas?: number;
  missingReplicas?: number;
  conditions?: { type?: string; status?: string; reason?: string }[];
}

async function statuses(world: World): Promise<Status[]> {
  const { status } = await spreadOf(world).get("v1beta1");
  return Object(status)["subsetStatuses"] ?? [];
}

/** Pods by subset, all ready on their nodes and with their costs, and the status that says so. */
async function untilSpread(
  clone: CloneSet,
  nodes: Readonly<Record<string, string>>,
  counts: Readonly<Record<"fixed" | "elastic", number>>,
): Promise<void> {
  const { world } = clone;
  const { fixed, elastic } = counts;
  await clone.untilAll(fixed + elastic);
  await world.until(`${fixed} fixed and ${elastic} elastic pods`, async () => {
    for (const [subset, cost] of [
      ["fixed", "200"],
      ["elastic", "100"],
    ] as const) {
      const pods = await inSubset(clone, subset);
      assert.equal(pods.length, counts[subset], subset);
      for (const pod of pods) {
        assert.equal(pod.spec?.nodeName, nodes[subset]);
        assert.equal(pod.metadata.annotations?.[COST], cost);
        assert.equal(pod.metadata.labels?.["pool"], subset === "fixed" ? "fixed" : undefined);
      }
    }
    const [first, second] = await statuses(world);
    assert.deepEqual(
      [first?.name, first?.replicas, first?.missingReplicas],
      ["fixed", fixed, Math.max(0, 2 - fixed)],
    );
    assert.deepEqual([second?.name, second?.replicas, second?.missingReplicas], ["elastic", elastic, -1]);
  });
}

async function stepsOneToFive(clone: CloneSet, nodes: Readonly<Record<string, string>>): Promise<void> {
  const { world } = clone;
  await world.step("1 the first pods are fixed", async () => {
    const spread = spreadOf(world);
    await createSpread(spread);
    await spread.untilObserved();
    await clone.create({
      replicas: 2,
      strategy: { policy: "InPlaceIfPossible", maxUnavailable: "50%" },
    });
    await untilSpread(clone, nodes, { fixed: 2, elastic: 0 });
    for (const { spec } of await inSubset(clone, "fixed")) {
      assert.deepEqual(spec?.["affinity"], {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [zoned("zone-a")] },
        },
      });
    }
    const template = JSON.stringify((await clone.get()).spec?.["template"]);
    assert.ok(!template.includes("zone"), template);
  });
  await world.step("2 all others are elastic", async () => {
    await clone.scale(6);
    await untilSpread(clone, nodes, { fixed: 2, elastic: 4 });
  });
  const before = uids(await clone.livePods());
  const fixed = uids(await inSubset(clone, "fixed"));
  await world.step("3 an update in place moves nobody", async () => {
    await clone.toImage("nginx:1.21");
    await clone.untilUpdated(6, "nginx:1.21");
    assert.deepEqual(uids(await clone.livePods()), before);
    await untilSpread(clone, nodes, { fixed: 2, elastic: 4 });
  });
  await world.step("4 elastic pods go first", async () => {
    await clone.scale(2);
    await untilSpread(clone, nodes, { fixed: 2, elastic: 0 });
    assert.deepEqual(uids(await inSubset(clone, "fixed")), fixed);
  });
  await world.step("5 a replacement has the place of the pod that went", async () => {
    const [pod] = await inSubset(clone, "fixed");
    await world.remove("pods", pod?.metadata.name ?? "");
    await untilSpread(clone, nodes, { fixed: 2, elastic: 0 });
  });
}

async function stepSix(world: World): Promise<void> {
  await world.step("6 both versions, and the columns", async () => {
    const terms = { v1alpha1: "requiredNodeSelectorTerm", v1beta1: "requiredNodeSelector" } as const;
    const spread = spreadOf(world);
    for (const version of ["v1alpha1", "v1beta1"] as const) {
      const [first] = records((await spread.get(version)).spec?.["subsets"]);
      assert.deepEqual(first?.[terms[version]], zoned("zone-a"));
    }
    assert.equal(await spread.columns(), "NAME WORKLOADNAME WORKLOADKIND ADAPTIVE AGE");
    assert.equal(await spread.row(), "elastic CloneSet");
  });
}

function taint(world: World, node: string, taints: object[] | null): Promise<Item> {
  return world.patch("nodes", node, "merge", { spec: { taints } });
}

async function stepSeven(clone: CloneSet, nodes: Readonly<Record<string, string>>): Promise<void> {
  const { world } = clone;
  await world.step("7 pods that find no node move on, once that is asked for", async () => {
    await taint(world, nodes["fixed"] ?? "", [{ key: "case", value: "x", effect: "NoSchedule" }]);
    await clone.scale(0);
    await world.until("no pods", async () => assert.equal((await clone.pods()).length, 0));
    await clone.scale(3);
    const waiting = async () => {
      const phases = (await clone.livePods()).map((pod) => `${subsetOf(pod)} ${pod.status?.phase}`);
      assert.deepEqual(phases.sort(), ["elastic Running", "fixed Pending", "fixed Pending"]);
      for (const { conditions = [] } of await statuses(world)) assert.deepEqual(conditions, []);
    };
    await world.until("two pods wait", waiting);
    await world.stays(waiting, 20_000);
    const scheduleStrategy = { type: "Adaptive", adaptive: { rescheduleCriticalSeconds: 5 } };
    await spreadOf(world).mergeSpec({ scheduleStrategy });
    await world.until("all have moved", async () => {
      const pods = await clone.livePods();
      assert.deepEqual(
        pods.map((pod) => `${subsetOf(pod)} ${pod.status?.phase} ${pod.spec?.nodeName}`),
        Array.from({ length: 3 }, () => `elastic Running ${nodes["elastic"]}`),
      );
      const seen = (await statuses(world)).map(({ conditions = [] }) =>
        conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`).join(),
      );
      assert.deepEqual(seen, ["Schedulable False PodUnschedulable", "Schedulable True Sufficient"]);
    });
  });
}

async function stepEight(world: World): Promise<void> {
  await world.step("8 a second one for the same workload is refused", async () => {
    await world.refuses(
      400,
      () => createSpread(spreadOf(world, "second")),
      "ws.spec.targetRef is in conflict with other WorkloadSpread spread",
    );
  });
}

/** Taints a node, so no other suite may run beside it. */
export const suite: Suite = {
  number: "45",
  title: "WorkloadSpread: zones and an elastic pool",
  needs: ["own-controller"],
  async run(world) {
    const clone = new CloneSet(world, WORKLOAD);
    const [fixed = "", elastic = ""] = await world.workers();
    if (elastic === "") {
      world.skip("all", "needs two nodes without taints");
      return;
    }
    const nodes = { fixed, elastic };
    const label = (node: string, zone: string | null) =>
      world.patch("nodes", node, "merge", { metadata: { labels: { zone } } });
    await world.startController();
    try {
      await label(fixed, "zone-a");
      await label(elastic, "zone-b");
      await stepsOneToFive(clone, nodes);
      await stepSix(world);
      await stepSeven(clone, nodes);
      await stepEight(world);
    } finally {
      await taint(world, fixed, null);
      for (const node of [fixed, elastic]) await label(node, null);
    }
  },
};
