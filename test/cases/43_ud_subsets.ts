import assert from "node:assert/strict";
import { CloneSet } from "./clone_sets.ts";
import { nameOf, nodeOf } from "./items.ts";
import type { Suite } from "./suite.ts";
import { onHost, REVISION, SUBSET, United } from "./united_deployments.ts";
import type { World } from "./world.ts";

const names = ["subset-a", "subset-b", "subset-c"] as const;

/** A node for each subset; where there are fewer, some have the same. */
async function zonesOf(world: World): Promise<string[]> {
  const nodes = (await world.api.list("nodes")).map(nameOf).sort();
  return names.map((_, index) => nodes[index % nodes.length] ?? "");
}

function subsetsIn(zones: readonly string[], shares: readonly (number | string | undefined)[]): object[] {
  return shares.map((replicas, index) => ({
    name: names[index],
    nodeSelectorTerm: onHost(zones[index] ?? ""),
    ...(replicas === undefined ? {} : { replicas }),
  }));
}

async function classic(world: World, united: United, zones: readonly string[]): Promise<void> {
  await world.step("1 replicas by number, percentage and rest", async () => {
    const partitions = { "subset-a": 0, "subset-b": 0, "subset-c": 0 };
    const subsets = subsetsIn(zones, [1, "50%", undefined]);
    await united.create({ replicas: 6, subsets, partitions });
    await united.untilRow("6 6 6 6");
    assert.equal(await united.columns(), "NAME DESIRED CURRENT UPDATED READY AGE");
    const sizes = { "subset-a": 1, "subset-b": 3, "subset-c": 2 };
    assert.deepEqual(await united.sizes(), sizes);
    const { status } = await united.get("v1alpha1");
    assert.deepEqual(status?.["subsetReplicas"], sizes);
    for (const [index, name] of names.entries()) {
      const child = (await united.children())[name];
      assert.match(child?.metadata.name ?? "", new RegExp(`^sample-ud-${name}-[a-z0-9]{5}$`));
      const pods = await united.pods(name);
      assert.deepEqual(
        pods.map(nameOf).sort(),
        Array.from({ length: sizes[name] }, (_, ordinal) => `${child?.metadata.name}-${ordinal}`),
      );
      for (const { metadata, spec } of [...pods, ...(child ? [child] : [])]) {
        assert.equal(metadata.labels?.[SUBSET], name);
        assert.equal(metadata.labels?.[REVISION], status?.currentRevision);
        if (spec?.nodeName === undefined) continue;
        assert.equal(spec.nodeName, zones[index]);
        assert.deepEqual(spec["affinity"], {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [onHost(zones[index] ?? "")],
            },
          },
        });
      }
    }
  });
}

async function scaled(world: World, united: United): Promise<void> {
  await world.step("2 scaling, and numbers that cannot be met", async () => {
    await united.scale(10);
    await united.untilRow("10 10 10 10");
    const sizes = { "subset-a": 1, "subset-b": 5, "subset-c": 4 };
    assert.deepEqual(await united.sizes(), sizes);
    await united.scale(1);
    await world.until("the warning", async () => {
      const [event] = await united.events("Failed SpecifySubsetReplicas");
      assert.equal(event?.type, "Warning");
      assert.equal(
        event?.message,
        "Specified subset replicas is ineffective: specified subsets' replica (2) is greater than UnitedDeployment replica (1)",
      );
    });
    await world.stays(async () => assert.deepEqual(await united.sizes(), sizes), 5_000);
    assert.equal((await united.events("Failed SpecifySubsetReplicas")).length, 1);
  });
}

async function changed(world: World, united: United, zones: readonly string[]): Promise<void> {
  await world.step("3 a subset goes", async () => {
    const subsets = subsetsIn(zones, [1, undefined]);
    const partitions = { "subset-c": null };
    const updateStrategy = { manualUpdate: { partitions } };
    await united.mergeSpec({ replicas: 6, topology: { subsets }, updateStrategy });
    await united.untilSizes({ "subset-a": 1, "subset-b": 5 });
    await united.untilRow("6 6 6 6");
    await world.until("its pods are gone", async () => assert.deepEqual(await united.pods("subset-c"), []));
  });
  await world.step("4 nodes of a subset do not change", async () => {
    const subsets = subsetsIn([zones[1] ?? "", zones[0] ?? ""], [1, undefined]);
    await world.refuses(
      422,
      () => united.patch("merge", { spec: { topology: { subsets } } }),
      /may not be changed in an update/,
    );
  });
}

async function otherKinds(world: World, zones: readonly string[]): Promise<void> {
  await world.step("5 subsets that are Advanced StatefulSets", async () => {
    const template = "advancedStatefulSetTemplate";
    const subsets = subsetsIn(zones, ["40%", undefined]);
    const advanced = new United(world, "advanced-ud");
    await advanced.create({ replicas: 5, subsets, template });
    await advanced.untilRow("5 5 5 5");
    assert.deepEqual(await advanced.sizes(template), { "subset-a": 2, "subset-b": 3 });
  });
  await world.step("6 for comparison: one workload, spread by the scheduler", async () => {
    const spread = {
      maxSkew: 1,
      topologyKey: "kubernetes.io/hostname",
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: { matchLabels: { case: "spread" } },
    };
    const podSpec = { terminationGracePeriodSeconds: 1, topologySpreadConstraints: [spread] };
    const pods = await new CloneSet(world, "spread").start({ replicas: 3, podSpec });
    assert.equal(new Set(pods.map(nodeOf)).size, new Set(zones).size);
  });
}

export const suite: Suite = {
  number: "43",
  title: "UnitedDeployment: one workload for each group of nodes",
  needs: [],
  async run(world) {
    const united = new United(world, "sample-ud");
    const zones = await zonesOf(world);
    await classic(world, united, zones);
    await scaled(world, united);
    await changed(world, united, zones);
    await otherKinds(world, zones);
    await world.step("7 fields that were never built are dropped", async () => {
      await united.mergeSpec({ topology: { clusterRegistry: {} } });
      assert.ok(!("clusterRegistry" in Object((await united.get()).spec?.["topology"])));
    });
  },
};
