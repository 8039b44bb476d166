/** What happens to a DaemonSet while its controller dies. */
import assert from "node:assert/strict";
import { container, imagePatch } from "../cases/manifests.ts";
import type { Item } from "../cluster/api.ts";
import type { Place, Scenario } from "./scenarios.ts";

/** The sandbox's nodes. */
const nodes = 3;

/** Complete, since no admission fills in defaults here; stored version, since no webhook converts. */
function daemons(rollingUpdate: object): object {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "DaemonSet",
    metadata: { name: "it" },
    spec: {
      burstReplicas: 250,
      revisionHistoryLimit: 10,
      selector: { matchLabels: { case: "it" } },
      updateStrategy: { type: "RollingUpdate", rollingUpdate },
      template: {
        metadata: { labels: { case: "it" } },
        spec: { terminationGracePeriodSeconds: 1, containers: [container("nginx", "nginx:1.20")] },
      },
    },
  };
}

/** One pod a node, each with the image, and every number of the status says so. */
async function complete({ api, namespace }: Place, image = "nginx:1.20"): Promise<Item[]> {
  const pods = await api.list("pods", namespace);
  assert.deepEqual(
    pods.map((pod) => pod.spec?.containers?.[0]?.image),
    Array(nodes).fill(image),
  );
  assert.equal(new Set(pods.map((pod) => pod.spec?.nodeName)).size, nodes, "each on a node of its own");
  const { status = {}, metadata } = await api.get("daemonsets", "it", namespace);
  assert.equal(status.observedGeneration, metadata.generation, "observed");
  for (const count of ["desiredNumberScheduled", "numberReady", "numberAvailable", "updatedNumberScheduled"])
    assert.equal(status[count], nodes, count);
  return pods;
}

function rollout(name: string, rollingUpdate: object, leastAvailable: number): Scenario {
  return {
    name: `daemons: ${name}`,
    before: daemons(rollingUpdate),
    settledBefore: async (place) => void (await complete(place)),
    act: async ({ api, namespace }) =>
      void (await api.patch("daemonsets", "it", namespace, "json", imagePatch("nginx:1.21"))),
    settled: async (place) => void (await complete(place, "nginx:1.21")),
    leastAvailable,
  };
}

const creation: Scenario = {
  name: "daemons: create",
  act: async ({ api, namespace }) =>
    void (await api.create(daemons({ rollingUpdateType: "Standard", maxUnavailable: 1 }), namespace)),
  async settled(place) {
    await complete(place);
    assert.equal((await place.api.list("controllerrevisions", place.namespace)).length, 1);
  },
};

export const daemonScenarios: readonly Scenario[] = [
  creation,
  rollout("rollout by recreation", { rollingUpdateType: "Standard", maxUnavailable: 1 }, nodes - 1),
  rollout("rollout in place", { rollingUpdateType: "InPlaceIfPossible", maxUnavailable: 1 }, nodes - 1),
  rollout("rollout with surge", { rollingUpdateType: "Standard", maxUnavailable: 0, maxSurge: 1 }, nodes),
];
