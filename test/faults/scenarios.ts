/** What happens to a CloneSet while its controller dies: how it begins, what is asked for, and how it must end. */
import assert from "node:assert/strict";
import { claimTemplate, container, imagePatch } from "../cases/manifests.ts";
import type { Api, Item } from "../cluster/api.ts";

export interface Place {
  readonly api: Api;
  readonly namespace: string;
}

export interface Scenario {
  readonly name: string;
  /** What exists before; empty: the scenario begins with nothing. */
  readonly before?: object;
  /** Makes what exists before, where that depends on the place; it has a healthy controller. */
  prepare?(place: Place): Promise<void>;
  /** Removes what it made outside of the namespace. */
  leave?(place: Place): Promise<void>;
  /** Waits until what exists before is settled; receives a place with a healthy controller. */
  settledBefore?(place: Place): Promise<void>;
  /** The change during which the controller dies. */
  act(place: Place): Promise<void>;
  /** Throws until the asked state is reached. Called again and again; may answer hooks. */
  settled(place: Place): Promise<void>;
  /** Fewest available pods at any moment after `before` was settled. */
  readonly leastAvailable?: number;
}

const hook = "case.example/hook";

interface Shape {
  replicas?: number;
  policy?: string;
  maxUnavailable?: number;
  labels?: Record<string, string>;
  spec?: object;
  containers?: object[];
}

/** Complete, since no admission fills in defaults here; stored version, since no webhook converts. */
export function clone({
  replicas = 3,
  policy = "InPlaceIfPossible",
  maxUnavailable = 1,
  labels,
  spec,
  containers,
}: Shape): object {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    metadata: { name: "it" },
    spec: {
      replicas,
      revisionHistoryLimit: 10,
      selector: { matchLabels: { case: "it" } },
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: {
          podUpdatePolicy: policy,
          partition: 0,
          maxUnavailable,
          maxSurge: 0,
          inPlaceUpdateStrategy: {},
        },
      },
      template: {
        metadata: { labels: { case: "it", ...labels } },
        spec: {
          restartPolicy: "Always",
          dnsPolicy: "ClusterFirst",
          schedulerName: "default-scheduler",
          securityContext: {},
          terminationGracePeriodSeconds: 1,
          containers: containers ?? [container("nginx", "nginx:1.20")],
        },
      },
      ...spec,
    },
  };
}

async function pods({ api, namespace }: Place): Promise<Item[]> {
  return api.list("pods", namespace);
}

function image(pod: Item): string | undefined {
  return pod.spec?.containers?.[0]?.image;
}

/** Every number of the status is `count`, no pod is left over, each has the image. */
async function complete(place: Place, count: number, wanted = "nginx:1.20"): Promise<Item[]> {
  const all = await pods(place);
  assert.deepEqual(all.map(image), Array(count).fill(wanted));
  assert.ok(
    all.every((pod) => pod.metadata.deletionTimestamp === undefined),
    "no pod is on its way out",
  );
  const { status, metadata } = await place.api.get("clonesets", "it", place.namespace);
  assert.equal(status?.observedGeneration, metadata.generation, "observed");
  assert.deepEqual(
    [status?.replicas, status?.readyReplicas, status?.availableReplicas, status?.updatedAvailableReplicas],
    [count, count, count, count],
  );
  assert.equal(status?.currentRevision, status?.updateRevision);
  return all;
}

async function patchClone({ api, namespace }: Place, type: "json" | "merge", body: unknown): Promise<void> {
  await api.patch("clonesets", "it", namespace, type, body);
}

async function create({ api, namespace }: Place, manifest: object): Promise<void> {
  await api.create(manifest, namespace);
}

const createScenario: Scenario = {
  name: "create",
  act: (place) => create(place, clone({ replicas: 5 })),
  async settled(place) {
    await complete(place, 5);
    assert.equal((await place.api.list("controllerrevisions", place.namespace)).length, 1);
  },
};

const scale: Scenario = {
  name: "scale out and in",
  before: clone({ replicas: 2 }),
  settledBefore: async (place) => void (await complete(place, 2)),
  async act(place) {
    await patchClone(place, "merge", { spec: { replicas: 6 } });
    await new Promise((resolve) => setTimeout(resolve, 150));
    await patchClone(place, "merge", { spec: { replicas: 1 } });
  },
  settled: async (place) => void (await complete(place, 1)),
  leastAvailable: 1,
};

const inPlace: Scenario = {
  name: "rollout in place",
  before: clone({ replicas: 4 }),
  settledBefore: async (place) => void (await complete(place, 4)),
  act: (place) => patchClone(place, "json", imagePatch("nginx:1.21")),
  async settled(place) {
    const all = await complete(place, 4, "nginx:1.21");
    assert.deepEqual(
      all.map((pod) => pod.status?.containerStatuses?.[0]?.restartCount),
      [1, 1, 1, 1],
    );
  },
  leastAvailable: 3,
};

const recreate: Scenario = {
  name: "rollout by recreation",
  before: clone({ replicas: 3, policy: "ReCreate" }),
  settledBefore: async (place) => void (await complete(place, 3)),
  act: (place) => patchClone(place, "json", imagePatch("nginx:1.21")),
  settled: async (place) => void (await complete(place, 3, "nginx:1.21")),
  leastAvailable: 2,
};

const specified: Scenario = {
  name: "named pods are deleted",
  before: clone({ replicas: 4 }),
  settledBefore: async (place) => void (await complete(place, 4)),
  async act(place) {
    const names = (await pods(place)).map((pod) => pod.metadata.name);
    await patchClone(place, "merge", {
      spec: { replicas: 2, scaleStrategy: { podsToDelete: names.slice(0, 2) } },
      metadata: { annotations: { "case.example/named": names.slice(0, 2).join() } },
    });
  },
  async settled(place) {
    const left = (await complete(place, 2)).map((pod) => pod.metadata.name);
    const { metadata, spec } = await place.api.get("clonesets", "it", place.namespace);
    const named = (metadata.annotations?.["case.example/named"] ?? "").split(",");
    assert.ok(
      named.every((name) => !left.includes(name)),
      "exactly the named pods went",
    );
    assert.deepEqual(spec?.scaleStrategy?.["podsToDelete"] ?? [], []);
  },
};

const claims: Scenario = {
  name: "claims are kept for vanished pods",
  before: clone({
    replicas: 2,
    containers: [container("nginx", "nginx:1.20", { volumeMounts: [{ name: "data", mountPath: "/data" }] })],
    spec: {
      scaleStrategy: { enablePVCReuse: true },
      volumeClaimTemplates: [{ ...claimTemplate("data", "standard"), status: { phase: "Pending" } }],
    },
  }),
  async settledBefore(place) {
    await complete(place, 2);
    await rememberClaims(place);
  },
  async act(place) {
    for (const pod of await pods(place)) await place.api.remove("pods", pod.metadata.name, place.namespace);
  },
  async settled(place) {
    await complete(place, 2);
    const { metadata } = await place.api.get("clonesets", "it", place.namespace);
    assert.equal(await claimNames(place), metadata.annotations?.["case.example/claims"]);
  },
};

async function claimNames({ api, namespace }: Place): Promise<string> {
  const found = await api.list("persistentvolumeclaims", namespace);
  return found
    .map((claim) => `${claim.metadata.name} ${claim.metadata.uid}`)
    .sort()
    .join();
}

async function rememberClaims(place: Place): Promise<void> {
  const annotations = { "case.example/claims": await claimNames(place) };
  await patchClone(place, "merge", { metadata: { annotations } });
}

const hooks: Scenario = {
  name: "lifecycle hooks",
  before: clone({
    replicas: 2,
    labels: { [hook]: "true" },
    spec: {
      lifecycle: {
        preDelete: { labelsHandler: { [hook]: "true" } },
        inPlaceUpdate: { labelsHandler: { [hook]: "true" } },
      },
    },
  }),
  settledBefore: async (place) => void (await complete(place, 2)),
  act: (place) => patchClone(place, "json", imagePatch("nginx:1.21")),
  async settled(place) {
    for (const pod of await pods(place)) await answerHook(place, pod);
    await complete(place, 2, "nginx:1.21");
  },
  leastAvailable: 1,
};

async function answerHook({ api, namespace }: Place, pod: Item): Promise<void> {
  const state = pod.metadata.labels?.["lifecycle.apps.kruise.io/state"];
  const hooked = pod.metadata.labels?.[hook] === "true";
  const wanted =
    state === "PreparingUpdate" && hooked ? null : state === "Updated" && !hooked ? "true" : undefined;
  if (wanted === undefined) return;
  await api.patch("pods", pod.metadata.name, namespace, "merge", {
    metadata: { labels: { [hook]: wanted } },
  });
}

export const scenarios: readonly Scenario[] = [
  createScenario,
  scale,
  inPlace,
  recreate,
  specified,
  claims,
  hooks,
];
