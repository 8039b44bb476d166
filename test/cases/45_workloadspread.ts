import assert from "node:assert/strict";
import { type Item, isRecord } from "../cluster/api.ts";
import { cloneSet, imagePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const MATCHED = "apps.kruise.io/matched-workloadspread";
const COST = "controller.kubernetes.io/pod-deletion-cost";
const WORKLOAD = "elastic";

function spreads(version: string): string {
  return `workloadspreads.${version}.apps.kruise.io`;
}

function zoned(zone: string): object {
  return { matchExpressions: [{ key: "zone", operator: "In", values: [zone] }] };
}

function spread(world: World, name: string): object {
  const { version } = world;
  const term = version === "v1alpha1" ? "requiredNodeSelectorTerm" : "requiredNodeSelector";
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "WorkloadSpread",
    metadata: { name },
    spec: {
      targetRef: { apiVersion: `apps.kruise.io/${version}`, kind: "CloneSet", name: WORKLOAD },
      subsets: [
        {
          name: "fixed",
          [term]: zoned("zone-a"),
          maxReplicas: 2,
          patch: { metadata: { labels: { pool: "fixed" } } },
        },
        { name: "elastic", [term]: zoned("zone-b") },
      ],
    },
  };
}

function subsetOf(pod: Item): string {
  const match: unknown = JSON.parse(pod.metadata.annotations?.[MATCHED] ?? "{}");
  return isRecord(match) && match["name"] === "spread" ? String(match["subset"]) : "";
}

function uids(pods: readonly Item[]): string[] {
  return pods.map(({ metadata }) => metadata.uid ?? "").sort();
}

async function inSubset(world: World, subset: string): Promise<Item[]> {
  return (await world.livePodsOf(WORKLOAD)).filter((pod) => subsetOf(pod) === subset);
}

interface Status {
  name?: string;
  replicas?: number;
  missingReplicas?: number;
  conditions?: { type?: string; status?: string; reason?: string }[];
}

async function statuses(world: World): Promise<Status[]> {
  const { status } = await world.api.get(spreads("v1beta1"), "spread", world.namespace);
  return Object(status)["subsetStatuses"] ?? [];
}

/** Pods by subset, all ready on their nodes and with their costs, and the status that says so. */
async function untilSpread(
  world: World,
  nodes: Readonly<Record<string, string>>,
  counts: Readonly<Record<"fixed" | "elastic", number>>,
): Promise<void> {
  const { fixed, elastic } = counts;
  await world.untilAll(WORKLOAD, fixed + elastic);
  await world.until(`${fixed} fixed and ${elastic} elastic pods`, async () => {
    for (const [subset, cost] of [
      ["fixed", "200"],
      ["elastic", "100"],
    ] as const) {
      const pods = await inSubset(world, subset);
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

async function stepsOneToFive(world: World, nodes: Readonly<Record<string, string>>): Promise<void> {
  await world.step("1 the first pods are fixed", async () => {
    await world.apply(spread(world, "spread"));
    await world.untilObserved(spreads(world.version), "spread");
    await world.apply(
      cloneSet(world.version, {
        name: WORKLOAD,
        replicas: 2,
        strategy: { policy: "InPlaceIfPossible", maxUnavailable: "50%" },
      }),
    );
    await untilSpread(world, nodes, { fixed: 2, elastic: 0 });
    for (const { spec } of await inSubset(world, "fixed")) {
      assert.deepEqual(spec?.["affinity"], {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [zoned("zone-a")] },
        },
      });
    }
    const template = JSON.stringify((await world.get(WORKLOAD)).spec?.["template"]);
    assert.ok(!template.includes("zone"), template);
  });
  await world.step("2 all others are elastic", async () => {
    await world.scale(WORKLOAD, 6);
    await untilSpread(world, nodes, { fixed: 2, elastic: 4 });
  });
  const before = uids(await world.livePodsOf(WORKLOAD));
  const fixed = uids(await inSubset(world, "fixed"));
  await world.step("3 an update in place moves nobody", async () => {
    await world.patch(WORKLOAD, "json", imagePatch("nginx:1.21"));
    await world.untilAllUpdated(WORKLOAD, 6, "nginx:1.21");
    assert.deepEqual(uids(await world.livePodsOf(WORKLOAD)), before);
    await untilSpread(world, nodes, { fixed: 2, elastic: 4 });
  });
  await world.step("4 elastic pods go first", async () => {
    await world.scale(WORKLOAD, 2);
    await untilSpread(world, nodes, { fixed: 2, elastic: 0 });
    assert.deepEqual(uids(await inSubset(world, "fixed")), fixed);
  });
  await world.step("5 a replacement has the place of the pod that went", async () => {
    const [pod] = await inSubset(world, "fixed");
    await world.remove("pods", pod?.metadata.name ?? "");
    await untilSpread(world, nodes, { fixed: 2, elastic: 0 });
  });
}

async function stepSix(world: World): Promise<void> {
  await world.step("6 both versions, and the columns", async () => {
    const terms = { v1alpha1: "requiredNodeSelectorTerm", v1beta1: "requiredNodeSelector" } as const;
    for (const version of ["v1alpha1", "v1beta1"] as const) {
      const { spec } = await world.api.get(spreads(version), "spread", world.namespace);
      const subsets: unknown = spec?.["subsets"];
      const first: unknown = Array.isArray(subsets) ? subsets[0] : undefined;
      assert.deepEqual(isRecord(first) ? first[terms[version]] : undefined, zoned("zone-a"));
    }
    const { header } = await world.printed(spreads(world.version));
    assert.deepEqual(header, ["NAME", "WORKLOADNAME", "WORKLOADKIND", "ADAPTIVE", "AGE"]);
    assert.equal(await world.row("spread", { resource: spreads(world.version) }), "spread elastic CloneSet");
  });
}

function taint(world: World, node: string, taints: object[] | null): Promise<Item> {
  return world.api.patch("nodes", node, undefined, "merge", { spec: { taints } });
}

async function stepSeven(world: World, nodes: Readonly<Record<string, string>>): Promise<void> {
  await world.step("7 pods that find no node move on, once that is asked for", async () => {
    await taint(world, nodes["fixed"] ?? "", [{ key: "case", value: "x", effect: "NoSchedule" }]);
    await world.scale(WORKLOAD, 0);
    await world.until("no pods", async () => assert.equal((await world.podsOf(WORKLOAD)).length, 0));
    await world.scale(WORKLOAD, 3);
    const waiting = async () => {
      const phases = (await world.livePodsOf(WORKLOAD)).map((pod) => `${subsetOf(pod)} ${pod.status?.phase}`);
      assert.deepEqual(phases.sort(), ["elastic Running", "fixed Pending", "fixed Pending"]);
      for (const { conditions = [] } of await statuses(world)) assert.deepEqual(conditions, []);
    };
    await world.until("two pods wait", waiting);
    await world.stays(waiting, 20_000);
    const scheduleStrategy = { type: "Adaptive", adaptive: { rescheduleCriticalSeconds: 5 } };
    await world.patch("spread", "merge", { spec: { scheduleStrategy } }, spreads(world.version));
    await world.until("all have moved", async () => {
      const pods = await world.livePodsOf(WORKLOAD);
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
    const message = await world.refused(() => world.apply(spread(world, "second")), 400);
    assert.ok(message.includes("ws.spec.targetRef is in conflict with other WorkloadSpread spread"), message);
  });
}

/** Taints a node, so no other suite may run beside it. */
export const suite: Suite = {
  number: "45",
  title: "WorkloadSpread: zones and an elastic pool",
  needs: ["own-controller"],
  async run(world) {
    const [fixed = "", elastic = ""] = (await world.api.list("nodes"))
      .filter(({ spec }) => !Array.isArray(spec?.["taints"]) || spec["taints"].length === 0)
      .map(({ metadata }) => metadata.name)
      .sort();
    if (elastic === "") {
      world.skip("all", "needs two nodes without taints");
      return;
    }
    const nodes = { fixed, elastic };
    const label = (node: string, zone: string | null) =>
      world.api.patch("nodes", node, undefined, "merge", { metadata: { labels: { zone } } });
    await world.startController();
    try {
      await label(fixed, "zone-a");
      await label(elastic, "zone-b");
      await stepsOneToFive(world, nodes);
      await stepSix(world);
      await stepSeven(world, nodes);
      await stepEight(world);
    } finally {
      await taint(world, fixed, null);
      for (const node of [fixed, elastic]) await label(node, null);
    }
  },
};
