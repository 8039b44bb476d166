/** What happens to workloads in subsets, and to copies in namespaces, while their controller dies. */
import assert from "node:assert/strict";
import { container } from "../cases/manifests.ts";
import { type UnitedShape, unitedDeployment } from "../cases/united_deployments.ts";
import type { Item } from "../cluster/api.ts";
import { reached } from "./lab.ts";
import type { Place, Scenario } from "./scenarios.ts";

const uniteds = "uniteddeployments.v1beta1.apps.kruise.io";
const deployments = "deployments.v1.apps";
const spreads = "workloadspreads.v1beta1.apps.kruise.io";
const distributions = "resourcedistributions.v1beta1.apps.kruise.io";
const labels = { case: "it" };
const cost = "controller.kubernetes.io/pod-deletion-cost";

/** With defaults, which no webhook fills in here. */
const united = (shape: Omit<UnitedShape, "name">): object =>
  unitedDeployment("v1beta1", {
    name: "it",
    template: "deploymentTemplate",
    more: { revisionHistoryLimit: 10, updateStrategy: { type: "Manual", manualUpdate: {} } },
    ...shape,
  });

/** Each subset has one workload of its size, all pods run the image, and the status says so. */
async function complete(
  { api, namespace }: Place,
  sizes: Record<string, number>,
  image: string,
  revisions: number,
): Promise<void> {
  const found = await api.list(deployments, namespace);
  const subsets = found.map(({ metadata, spec }) => [
    metadata.labels?.["apps.kruise.io/subset-name"],
    spec?.replicas,
  ]);
  assert.deepEqual(subsets.sort(), Object.entries(sizes));
  const total = Object.values(sizes).reduce((sum, size) => sum + size, 0);
  const images = (await api.list("pods", namespace)).map(({ spec }) => spec?.containers?.[0]?.image);
  assert.deepEqual(images, Array(total).fill(image));
  const { status, metadata } = await api.get(uniteds, "it", namespace);
  assert.equal(status?.observedGeneration, metadata.generation, "observed");
  for (const count of ["replicas", "readyReplicas", "updatedReplicas", "updatedReadyReplicas"])
    assert.equal(status?.[count], total, count);
  assert.equal(status?.currentRevision, status?.["updatedRevision"]);
  assert.equal((await api.list("controllerrevisions.v1.apps", namespace)).length, revisions, "revisions");
}

const named = (...names: string[]) => names.map((name) => ({ name }));

export const unitedScenarios: readonly Scenario[] = [
  {
    name: "subsets are made",
    act: async ({ api, namespace }) => {
      await api.create(
        united({ replicas: 5, subsets: [{ name: "a", replicas: 2 }, { name: "b" }] }),
        namespace,
      );
    },
    settled: (place) => complete(place, { a: 2, b: 3 }, "nginx:1.20", 1),
  },
  {
    name: "a new template, and another subset in the place of one",
    before: united({ replicas: 4, subsets: named("a", "b") }),
    settledBefore: (place) => complete(place, { a: 2, b: 2 }, "nginx:1.20", 1),
    async act({ api, namespace }) {
      const { spec } = Object(united({ replicas: 4, subsets: named("a", "c"), image: "nginx:1.21" }));
      await api.patch(uniteds, "it", namespace, "merge", { spec });
    },
    settled: (place) => complete(place, { a: 2, c: 2 }, "nginx:1.21", 2),
  },
];

const set = {
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  metadata: { name: "it" },
  spec: {
    replicas: 4,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { terminationGracePeriodSeconds: 1, containers: [container("nginx", "nginx:1.20")] },
    },
  },
};

const spread = (cap: number) => ({
  apiVersion: "apps.kruise.io/v1beta1",
  kind: "WorkloadSpread",
  metadata: { name: "it" },
  spec: {
    targetRef: { apiVersion: "apps/v1", kind: "ReplicaSet", name: "it" },
    subsets: [{ name: "a", maxReplicas: cap }, { name: "b" }],
  },
});

async function running({ api, namespace }: Place): Promise<Item[]> {
  const pods = await api.list("pods", namespace);
  assert.equal(pods.filter(({ status }) => status?.phase === "Running").length, 4);
  return pods;
}

const placeIn = (subset: string) => JSON.stringify({ name: "it", subset });

async function spreadOut(place: Place, costs: readonly string[], missing: number): Promise<void> {
  const pods = await running(place);
  assert.deepEqual(pods.map(({ metadata }) => metadata.annotations?.[cost]).sort(), costs);
  const places = pods.map(({ metadata }) => metadata.annotations?.["apps.kruise.io/matched-workloadspread"]);
  assert.deepEqual(places.sort(), [...Array(2).fill(placeIn("a")), ...Array(2).fill(placeIn("b"))]);
  const { status, metadata } = await place.api.get(spreads, "it", place.namespace);
  assert.equal(status?.observedGeneration, metadata.generation, "observed");
  assert.deepEqual(status?.["subsetStatuses"], [
    { name: "a", replicas: 2, missingReplicas: missing },
    { name: "b", replicas: 2, missingReplicas: -1 },
  ]);
}

export const spreadScenarios: readonly Scenario[] = [
  {
    name: "pods that were there before are taken over",
    before: set,
    settledBefore: async (place) => void (await running(place)),
    act: async ({ api, namespace }) => void (await api.create(spread(2), namespace)),
    settled: (place) => spreadOut(place, ["100", "100", "200", "200"], 0),
    leastAvailable: 4,
  },
  {
    name: "a cap falls",
    before: set,
    async prepare(place) {
      // Pods without a node belong to no subset until something else happens.
      await reached(place, async () => void (await running(place)), "its pods");
      await place.api.create(spread(2), place.namespace);
    },
    settledBefore: (place) => spreadOut(place, ["100", "100", "200", "200"], 0),
    async act({ api, namespace }) {
      await api.patch(spreads, "it", namespace, "merge", { spec: spread(1).spec });
    },
    settled: (place) => spreadOut(place, ["-100", "100", "100", "200"], 0),
    leastAvailable: 4,
  },
];

/** Targets of a distribution, which lies in no namespace: it is called like the place. */
const targetsOf = ({ namespace }: Place) => [namespace, `${namespace}-x`, `${namespace}-y`] as const;

const distribution = (place: Place, value: string, targets: readonly string[]) => ({
  apiVersion: "apps.kruise.io/v1beta1",
  kind: "ResourceDistribution",
  metadata: { name: place.namespace },
  spec: {
    resource: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shared" }, data: { value } },
    targets: { includedNamespaces: { list: targets.map((name) => ({ name })) } },
  },
});

/** Another's object of the same name is in the way of the last target. */
async function prepareTargets(place: Place): Promise<void> {
  const [, ...others] = targetsOf(place);
  for (const name of others)
    await place.api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const foreign = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "shared" },
    data: { value: "theirs" },
  };
  await place.api.create(foreign, others[1]);
}

async function leaveTargets(place: Place): Promise<void> {
  await place.api.remove(distributions, place.namespace);
  for (const name of targetsOf(place).slice(1)) await place.api.remove("namespaces", name);
}

/** What each target holds, and what the status says. */
async function distributed(
  place: Place,
  values: readonly (string | undefined)[],
  desired: number,
): Promise<void> {
  const { api, namespace } = place;
  const found = await Promise.all(targetsOf(place).map((target) => api.find("configmaps", "shared", target)));
  assert.deepEqual(
    found.map((copy) => Object(copy?.data).value),
    values,
  );
  const { status, metadata } = await api.get(distributions, namespace);
  assert.equal(status?.observedGeneration, metadata.generation, "observed");
  assert.deepEqual(
    [status?.["desired"], status?.["succeeded"], status?.["failed"]],
    [desired, desired - 1, 1],
  );
}

export const distributionScenarios: readonly Scenario[] = [
  {
    name: "copies are made",
    prepare: prepareTargets,
    leave: leaveTargets,
    act: async (place) => void (await place.api.create(distribution(place, "1", targetsOf(place)))),
    settled: (place) => distributed(place, ["1", "1", "theirs"], 3),
  },
  {
    name: "copies change, and one is no longer wanted",
    async prepare(place) {
      await prepareTargets(place);
      await place.api.create(distribution(place, "1", targetsOf(place)));
    },
    leave: leaveTargets,
    settledBefore: (place) => distributed(place, ["1", "1", "theirs"], 3),
    async act(place) {
      const [first, , last] = targetsOf(place);
      const { spec } = distribution(place, "2", [first, last]);
      await place.api.patch(distributions, place.namespace, undefined, "merge", { spec });
    },
    settled: (place) => distributed(place, ["2", undefined, "theirs"], 2),
  },
];
