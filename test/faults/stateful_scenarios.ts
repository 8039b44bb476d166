/** What happens to a StatefulSet or a BroadcastJob while its controller dies. */
import assert from "node:assert/strict";
import { claimTemplate, container, imagePatch } from "../cases/manifests.ts";
import type { Item } from "../cluster/api.ts";
import type { Place, Scenario } from "./scenarios.ts";

/** The sandbox's nodes. */
const nodes = 3;
const sets = "statefulsets.v1beta1.apps.kruise.io";

interface Shape {
  replicas: number;
  podManagementPolicy?: string;
  rollingUpdate?: object;
  spec?: object;
}

/** Complete, since no admission fills in defaults here; stored version, since no webhook converts. */
export function numbered({ replicas, podManagementPolicy = "Parallel", rollingUpdate, spec }: Shape): object {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "StatefulSet",
    metadata: { name: "it" },
    spec: {
      replicas,
      serviceName: "it",
      podManagementPolicy,
      revisionHistoryLimit: 10,
      selector: { matchLabels: { case: "it" } },
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: {
          podUpdatePolicy: "InPlaceIfPossible",
          partition: 0,
          maxUnavailable: 1,
          minReadySeconds: 0,
          ...rollingUpdate,
        },
      },
      template: {
        metadata: { labels: { case: "it" } },
        spec: {
          terminationGracePeriodSeconds: 1,
          readinessGates: [{ conditionType: "InPlaceUpdateReady" }],
          containers: [container("nginx", "nginx:1.20")],
        },
      },
      ...spec,
    },
  };
}

/** Ordinals 0 to `count` - 1, each with the image, and every number of the status says so. */
async function complete({ api, namespace }: Place, count: number, image = "nginx:1.20"): Promise<Item[]> {
  const pods = await api.list("pods", namespace);
  assert.deepEqual(
    pods.map((pod) => [pod.metadata.name, pod.spec?.containers?.[0]?.image]).sort(),
    Array.from({ length: count }, (_, ordinal) => [`it-${ordinal}`, image]),
  );
  assert.ok(pods.every((pod) => pod.metadata.deletionTimestamp === undefined));
  const { status = {}, metadata } = await api.get(sets, "it", namespace);
  assert.equal(status.observedGeneration, metadata.generation, "observed");
  for (const number of ["replicas", "readyReplicas", "availableReplicas", "updatedReplicas"] as const)
    assert.equal(status[number], count, number);
  assert.equal(status.currentRevision, status.updateRevision);
  return pods;
}

const inOrder: Scenario = {
  name: "numbered: created in order",
  act: async ({ api, namespace }) =>
    void (await api.create(numbered({ replicas: 3, podManagementPolicy: "OrderedReady" }), namespace)),
  settled: async (place) => void (await complete(place, 3)),
};

const claims: Scenario = {
  name: "numbered: scaled in with its claims",
  before: numbered({
    replicas: 3,
    spec: {
      volumeClaimTemplates: [claimTemplate("data", "standard")],
      persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete", whenDeleted: "Retain" },
    },
  }),
  settledBefore: async (place) => void (await complete(place, 3)),
  act: async ({ api, namespace }) =>
    void (await api.patch(sets, "it", namespace, "merge", { spec: { replicas: 1 } })),
  async settled(place) {
    await complete(place, 1);
    const left = await place.api.list("persistentvolumeclaims", place.namespace);
    assert.deepEqual(
      left.map(({ metadata }) => metadata.name),
      ["data-it-0"],
    );
  },
  leastAvailable: 1,
};

function rollout(name: string, rollingUpdate: object): Scenario {
  return {
    name: `numbered: ${name}`,
    before: numbered({ replicas: 3, rollingUpdate }),
    settledBefore: async (place) => void (await complete(place, 3)),
    act: async ({ api, namespace }) =>
      void (await api.patch(sets, "it", namespace, "json", imagePatch("nginx:1.21"))),
    settled: async (place) => void (await complete(place, 3, "nginx:1.21")),
    leastAvailable: 2,
  };
}

const job: Scenario = {
  name: "a task on each node",
  act: async ({ api, namespace }) =>
    void (await api.create(
      {
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "BroadcastJob",
        metadata: { name: "it" },
        spec: {
          parallelism: 2,
          completionPolicy: { type: "Always" },
          failurePolicy: { type: "FailFast" },
          template: {
            spec: {
              restartPolicy: "Never",
              containers: [container("task", "busybox:1.34", { command: ["sh", "-c", "sleep 0"] })],
            },
          },
        },
      },
      namespace,
    )),
  async settled({ api, namespace }) {
    const pods = await api.list("pods", namespace);
    const { status } = await api.get("broadcastjobs.v1beta1.apps.kruise.io", "it", namespace);
    assert.deepEqual([status?.phase, status?.["succeeded"], status?.["failed"]], ["completed", nodes, 0]);
    assert.equal(pods.length, nodes, "no node ran it twice");
    assert.equal(new Set(pods.map((pod) => pod.spec?.nodeName)).size, nodes);
  },
};

export const statefulScenarios: readonly Scenario[] = [
  inOrder,
  claims,
  rollout("in place", {}),
  rollout("by recreation", { podUpdatePolicy: "ReCreate" }),
  job,
];
