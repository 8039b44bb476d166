/** What people of a simulation apply, and how they change it. */
import {
  type Applied,
  amount,
  apps,
  claimSpec,
  hasClaims,
  type Maker,
  object,
  selector,
  theirsLabel,
} from "./applied.ts";
import type { Chance } from "./chance.ts";
import { broadcastJob, cronJob, ephemeralJob, imageListPullJob, imagePullJob } from "./job_manifests.ts";
import { cloneSet, daemonSet, statefulSet, unitedDeployment } from "./workload_manifests.ts";

const sidecarSet: Maker = (chance, namespace, name) => {
  const strategy = (each: Chance): object => ({
    type: "RollingUpdate",
    maxUnavailable: amount(each, 3),
    partition: each.is(0.6) ? 0 : each.whole(1, 3),
    paused: each.is(0.3),
  });
  const isHot = chance.is(0.4);
  const upgradeStrategy = { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: "side:empty" };
  const containers = (each: Chance): object[] => [
    { name: `side-${name}`, image: `side:${each.whole(1, 4)}`, ...(isHot ? { upgradeStrategy } : {}) },
  ];
  return object(
    `${apps}/v1alpha1`,
    "sidecarsets",
    "SidecarSet",
    { name: `${namespace}-${name}` },
    {
      namespace,
      selector: { matchLabels: { group: "simulated" } },
      containers: containers(chance),
      updateStrategy: strategy(chance),
    },
    (each) =>
      each.is(0.3)
        ? { spec: { updateStrategy: strategy(each) } }
        : { spec: { containers: containers(each) } },
  );
};

const resourceDistribution: Maker = (chance, namespace, name) => {
  const resource = (each: Chance): object => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    data: { round: String(each.whole(1, 9)) },
  });
  const targets = (each: Chance): object => {
    const list = each.oneOf([[namespace], ["blue", "green"], ["green"]]);
    return { includedNamespaces: { list: list.map((target) => ({ name: target })) } };
  };
  return object(
    `${apps}/v1alpha1`,
    "resourcedistributions",
    "ResourceDistribution",
    { name },
    { resource: resource(chance), targets: targets(chance) },
    (each) => ({ spec: each.is(0.5) ? { resource: resource(each) } : { targets: targets(each) } }),
  );
};

export const makers: readonly [Maker, ...Maker[]] = [
  cloneSet,
  cloneSet,
  cloneSet,
  statefulSet,
  statefulSet,
  daemonSet,
  daemonSet,
  sidecarSet,
  broadcastJob,
  imagePullJob,
  imageListPullJob,
  ephemeralJob,
  unitedDeployment,
  cronJob,
  resourceDistribution,
];

/** What somebody else has under the name of a copy, which stays as it is, or of a claim of a pod, which is used as it is. */
export function rivalOf(chance: Chance, { manifest }: Applied): Applied | undefined {
  const { kind, metadata } = manifest;
  if (kind === "StatefulSet" && hasClaims(manifest))
    return chance.is(0.3) ? claimOf(chance, metadata) : undefined;
  if (kind !== "ResourceDistribution" || !chance.is(0.3)) return undefined;
  const namespace = chance.oneOf(["blue", "green"]);
  return {
    path: `/api/v1/namespaces/${namespace}/configmaps/${metadata.name}`,
    manifest: {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: metadata.name, namespace, labels: { [theirsLabel]: "true" } },
    },
    change: (each) => ({ data: { theirs: String(each.whole(1, 9)) } }),
  };
}

function claimOf(chance: Chance, set: Applied["manifest"]["metadata"]): Applied {
  const { namespace = "" } = set;
  const name = `data-${set.name}-${chance.whole(0, 5)}`;
  return {
    path: `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`,
    manifest: {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name, namespace, labels: { [theirsLabel]: "true" } },
      spec: claimSpec("2Gi"),
    },
    change: (each) => ({ metadata: { annotations: { round: String(each.whole(1, 9)) } } }),
  };
}

/** What people put over a workload: a budget of its pods, how they are spread, what they are asked, where they come back to. */
export function companionOf(chance: Chance, { manifest }: Applied): Applied | undefined {
  const { namespace, name } = manifest.metadata;
  const isClones = manifest.kind === "CloneSet";
  if (namespace === undefined || !(isClones || manifest.kind === "StatefulSet")) return undefined;
  const targetRef = { apiVersion: manifest.apiVersion, kind: manifest.kind, name };
  if (chance.is(0.2)) return probeMarker(chance, namespace, name);
  if (!isClones && chance.is(0.4)) return podState(chance, namespace, name);
  if (!isClones || chance.is(0.5)) {
    return object(
      "policy.kruise.io/v1alpha1",
      "podunavailablebudgets",
      "PodUnavailableBudget",
      { namespace, name: `budget-${name}` },
      { targetRef, maxUnavailable: amount(chance, 3) },
      (each) => ({ spec: { maxUnavailable: amount(each, 3) } }),
    );
  }
  const subsets = (each: Chance): object[] => [
    { name: "few", maxReplicas: each.whole(0, 4), patch: { metadata: { labels: { subset: "few" } } } },
    { name: "rest", patch: { metadata: { labels: { subset: "rest" } } } },
  ];
  return object(
    `${apps}/v1alpha1`,
    "workloadspreads",
    "WorkloadSpread",
    { namespace, name: `spread-${name}` },
    { targetRef, subsets: subsets(chance) },
    (each) => ({ spec: { subsets: subsets(each) } }),
  );
}

/** The names of both are those of the workload. */
const probeMarker: Maker = (chance, namespace, name) =>
  object(
    `${apps}/v1alpha1`,
    "podprobemarkers",
    "PodProbeMarker",
    { namespace, name: `probe-${name}` },
    {
      selector: selector(name),
      probes: [
        {
          name: "idle",
          containerName: "main",
          podConditionType: "simulated.io/idle",
          probe: { exec: { command: ["true"] }, periodSeconds: chance.oneOf([5, 30]) },
        },
      ],
    },
    (each) => ({ metadata: { annotations: { round: String(each.whole(1, 9)) } } }),
  );

const podState: Maker = (chance, namespace, name) => {
  const keys = ["kubernetes.io/hostname"];
  const topology = chance.is(0.5)
    ? { requiredPersistentTopology: { keys } }
    : { preferredPersistentTopology: [{ weight: 100, preference: { keys } }] };
  return object(
    `${apps}/v1beta1`,
    "persistentpodstates",
    "PersistentPodState",
    { namespace, name: `state-${name}` },
    { targetRef: { apiVersion: `${apps}/v1beta1`, kind: "StatefulSet", name }, ...topology },
    (each) => ({ metadata: { annotations: { round: String(each.whole(1, 9)) } } }),
  );
};
