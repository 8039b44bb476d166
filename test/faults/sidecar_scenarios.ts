/** What happens to pods of nobody while the controller of their SidecarSet dies. */
import assert from "node:assert/strict";
import { writtenHashes } from "../../crds/index.ts";
import { container, podOf } from "../cases/manifests.ts";
import type { Item } from "../cluster/api.ts";
import type { Place, Scenario } from "./scenarios.ts";

const sets = "sidecarsets.v1beta1.apps.kruise.io";
const labels = { case: "it" };
const [firstImage, secondImage, emptyImage] = ["busybox:1.32", "busybox:1.33", "nginx:1.19"];

interface Shape {
  readonly name: string;
  readonly pods: number;
  readonly upgradeStrategy?: object;
  /** Containers of a pod that has the sidecar at its first image, beside `app`. */
  readonly containers: readonly object[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** Images by container once the sidecar is at its second one. */
  readonly updated: Readonly<Record<string, string>>;
  readonly leastAvailable: number;
}

/** Sets are not namespaced: they are called like the place of their pods. */
async function prepare({ api, namespace }: Place, shape: Shape): Promise<void> {
  const side = container("side", firstImage, { upgradeStrategy: shape.upgradeStrategy ?? {} });
  const { spec } = await api.create({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "SidecarSet",
    metadata: { name: namespace },
    spec: {
      selector: { matchLabels: labels },
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
      containers: [side],
      updateStrategy: { type: "RollingUpdate", maxUnavailable: 1, partition: 0 },
      revisionHistoryLimit: 10,
    },
  });
  // No webhook looks here: pods come as injected by one.
  const { hash, hashWithoutImage } = writtenHashes(undefined, { containers: Object(spec).containers });
  const annotations = {
    ...shape.annotations,
    "kruise.io/sidecarset-injected-list": namespace,
    "kruise.io/sidecarset-hash": JSON.stringify({ [namespace]: hash }),
    "kruise.io/sidecarset-hash-without-image": JSON.stringify({ [namespace]: hashWithoutImage }),
  };
  const containers = [container("app", "nginx:1.20"), ...shape.containers];
  for (let index = 0; index < shape.pods; index++)
    await api.create(podOf(`pod-${index}`, { labels, containers, annotations }), namespace);
}

/** Every number of the status says so, and every pod has the condition that it can be upgraded. */
async function complete({ api, namespace }: Place, pods: number): Promise<Item[]> {
  const { status, metadata } = await api.get(sets, namespace);
  assert.equal(status?.observedGeneration, metadata.generation, "observed");
  for (const count of ["matchedPods", "updatedPods", "readyPods", "updatedReadyPods"])
    assert.equal(status?.[count], pods, count);
  return api.list("pods", namespace);
}

function scenario(shape: Shape): Scenario {
  const { name, pods, updated, leastAvailable } = shape;
  return {
    name: `sidecars: ${name}`,
    prepare: (place) => prepare(place, shape),
    settledBefore: async (place) => void (await complete(place, pods)),
    async act({ api, namespace }) {
      const body = [{ op: "replace", path: "/spec/containers/0/image", value: secondImage }];
      await api.patch(sets, namespace, undefined, "json", body);
    },
    async settled(place) {
      for (const { spec, status } of await complete(place, pods)) {
        const images = Object.fromEntries((spec?.containers ?? []).map((one) => [one.name, one.image]));
        assert.deepEqual(images, { app: "nginx:1.20", ...updated });
        const app = status?.containerStatuses?.find((one) => one.name === "app");
        assert.equal(app?.restartCount, 0, "the pod's own container is left alone");
        const upgradable = status?.conditions?.find(({ type }) => type === "SidecarSetUpgradable");
        assert.equal(upgradable?.status, "True", "upgradable");
      }
      const revisions = await place.api.list("controllerrevisions", place.namespace);
      assert.equal(revisions.length, 2, "one revision a spec");
    },
    leave: ({ api, namespace }) => api.remove(sets, namespace),
    leastAvailable,
  };
}

const pair = (image: string, idle: string) => [container("side-1", image), container("side-2", idle)];

export const sidecarScenarios: readonly Scenario[] = [
  scenario({
    name: "update in place",
    pods: 3,
    containers: [container("side", firstImage)],
    updated: { side: secondImage },
    leastAvailable: 2,
  }),
  scenario({
    name: "hot upgrade",
    pods: 2,
    upgradeStrategy: { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: emptyImage },
    containers: pair(firstImage, emptyImage),
    annotations: {
      "kruise.io/sidecarset-working-hotupgrade-container": '{"side":"side-1"}',
      "version.sidecarset.kruise.io/side-1": "1",
      "versionalt.sidecarset.kruise.io/side-1": "0",
      "version.sidecarset.kruise.io/side-2": "0",
      "versionalt.sidecarset.kruise.io/side-2": "1",
    },
    updated: { "side-1": emptyImage, "side-2": secondImage },
    leastAvailable: 0,
  }),
];
