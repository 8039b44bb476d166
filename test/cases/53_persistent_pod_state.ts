import assert from "node:assert/strict";
import { type Item, isRecord } from "../cluster/api.ts";
import { nameOf } from "./items.ts";
import { nativeWorkload } from "./manifests.ts";
import { StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const OS = "kubernetes.io/os";
const HOST = "kubernetes.io/hostname";
const INJECTED = "kruise.io/injected-persistent-pod-state";
const SWITCH = "kruise.io/auto-generate-persistent-pod-state";
const annotations = {
  [SWITCH]: "true",
  "kruise.io/required-persistent-topology": OS,
  "kruise.io/preferred-persistent-topology": HOST,
};

function manifest(apiVersion: string): object {
  const more = { serviceName: "sticky", podManagementPolicy: "Parallel", replicas: 4 };
  return nativeWorkload(apiVersion, "StatefulSet", "sticky", { metadata: { annotations }, more });
}

function states(version: string): string {
  return `persistentpodstates.${version}.apps.kruise.io`;
}

function find(world: World, version: string = world.version): Promise<Item | undefined> {
  return world.find(states(version), "sticky");
}

async function records(world: World): Promise<Record<string, unknown>> {
  const found = (await find(world))?.status?.["podStates"];
  return isRecord(found) ? found : {};
}

function untilRecorded(world: World, names: readonly string[]): Promise<void> {
  return world.until(`records of ${names.join()}`, async () => {
    assert.deepEqual(Object.keys(await records(world)).sort(), names);
  });
}

async function nodesOf(set: StatefulSet): Promise<Record<string, string | undefined>> {
  return Object.fromEntries((await set.pods()).map((pod) => [pod.metadata.name, pod.spec?.nodeName]));
}

function injected(pod: Item): string | undefined {
  return pod.metadata.annotations?.[INJECTED];
}

const four = ["sticky-0", "sticky-1", "sticky-2", "sticky-3"];

async function stepsOne(set: StatefulSet): Promise<void> {
  const { world } = set;
  await world.step("1 an object is made, and records where each pod is", async () => {
    await set.untilOrdinals(0, 1, 2, 3);
    await untilRecorded(world, four);
    const nodes = await nodesOf(set);
    for (const [name, record] of Object.entries(await records(world))) {
      const nodeTopologyLabels = { [OS]: "linux", [HOST]: nodes[name] };
      assert.deepEqual(record, { nodeName: nodes[name], nodeTopologyLabels });
    }
    const keys = { v1alpha1: "nodeTopologyKeys", v1beta1: "keys" } as const;
    for (const version of ["v1alpha1", "v1beta1"] as const) {
      const object = await find(world, version);
      assert.deepEqual(object?.spec?.["requiredPersistentTopology"], { [keys[version]]: [OS] });
      assert.deepEqual(object?.spec?.["preferredPersistentTopology"], [
        { weight: 100, preference: { [keys[version]]: [HOST] } },
      ]);
      assert.equal(object?.metadata.ownerReferences?.[0]?.uid, (await set.get()).metadata.uid);
      assert.equal(object?.metadata.ownerReferences?.[0]?.controller, true);
    }
    for (const pod of await set.pods()) {
      assert.equal(injected(pod), undefined);
      assert.equal(pod.spec?.["nodeSelector"], undefined);
    }
    const { header } = await world.printed(states(world.version));
    assert.deepEqual(header, ["NAME", "AGE"]);
  });
}

async function assertSteered(
  set: StatefulSet,
  before: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  for (const pod of await set.pods()) {
    const { name } = pod.metadata;
    assert.equal(injected(pod), "sticky", name);
    assert.equal(pod.spec?.nodeName, before[name], name);
    assert.deepEqual(pod.spec?.["nodeSelector"], { [OS]: "linux" });
    const term = {
      weight: 100,
      preference: { matchExpressions: [{ key: HOST, operator: "In", values: [before[name]] }] },
    };
    assert.deepEqual(pod.spec?.["affinity"], {
      nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [term] },
    });
  }
}

async function stepsTwoAndThree(set: StatefulSet): Promise<void> {
  const { world } = set;
  await world.step("2 recreated pods return to their nodes", async () => {
    const [nodes, uids, recorded] = [await nodesOf(set), await set.uids(), await records(world)];
    await set.toImage("nginx:1.21");
    await world.within(120_000, "four new pods", async () => {
      const now = await set.uids();
      for (const name of four) assert.ok(now.has(name) && now.get(name) !== uids.get(name), name);
      assert.equal((await set.get()).status?.readyReplicas, 4);
    });
    await assertSteered(set, nodes);
    assert.deepEqual(await records(world), recorded);
  });
  await world.step("3 what is scaled away is forgotten", async () => {
    await set.scale(1);
    await untilRecorded(world, ["sticky-0"]);
    await set.untilOrdinals(0);
    await set.scale(4);
    await set.untilOrdinals(0, 1, 2, 3);
    await untilRecorded(world, four);
    const steered = (await set.pods()).filter((pod) => injected(pod) !== undefined);
    assert.deepEqual(steered.map(nameOf), ["sticky-0"]);
  });
}

async function stepsFourToSix(set: StatefulSet, apiVersion: string): Promise<void> {
  const { world } = set;
  await world.step("4 a second object for the same set is refused", async () => {
    const preference = world.version === "v1alpha1" ? { nodeTopologyKeys: [HOST] } : { keys: [HOST] };
    const another = {
      apiVersion: `apps.kruise.io/${world.version}`,
      kind: "PersistentPodState",
      metadata: { name: "another" },
      spec: {
        targetRef: { apiVersion, kind: "StatefulSet", name: "sticky" },
        preferredPersistentTopology: [{ weight: 100, preference }],
      },
    };
    await world.refuses(
      400,
      () => world.apply(another),
      "targetRef is in conflict with other PersistentPodState sticky",
    );
  });
  await world.step("5 the switch is turned off and on again", async () => {
    const [uids, recorded] = [await set.uids(), await records(world)];
    await set.merge({ metadata: { annotations: { [SWITCH]: null } } });
    await world.until("the object is gone", async () => assert.equal(await find(world), undefined));
    await set.merge({ metadata: { annotations: { [SWITCH]: "true" } } });
    await world.until("the same records", async () => assert.deepEqual(await records(world), recorded));
    assert.deepEqual(await set.uids(), uids);
  });
  await world.step("6 the object goes with the set", async () => {
    await set.remove();
    await world.until("the object is gone", async () => assert.equal(await find(world), undefined));
  });
}

async function runWith(world: World, apiVersion: string, resource?: string): Promise<void> {
  const set = new StatefulSet(world, "sticky", resource);
  await world.apply(manifest(apiVersion));
  await stepsOne(set);
  await stepsTwoAndThree(set);
  await stepsFourToSix(set, apiVersion);
}

export const suite: Suite = {
  number: "53",
  title: "PersistentPodState: recreated pods return to their node",
  needs: [],
  run: (world) => runWith(world, `apps.kruise.io/${world.version}`),
};

/** Scenarios 2 to 9 of the specification, for sets that another controller runs. */
export const nativeSuite: Suite = {
  number: "p02",
  title: "PersistentPodState of native StatefulSets",
  needs: ["real-node"],
  run: (world) => runWith(world, "apps/v1", "statefulsets.v1.apps"),
};
