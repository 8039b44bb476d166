/** What people of a simulation apply, and how they change it. */
import type { Chance } from "./chance.ts";

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: object;
}

export interface Applied {
  /** Of the object, below the server. */
  readonly path: string;
  readonly manifest: Manifest;
  /** A merge patch that somebody may send later. */
  readonly change: (chance: Chance) => object;
}

type Maker = (chance: Chance, namespace: string, name: string) => Applied;

const images = ["web:1", "web:2", "web:3", "web:4"] as const;
const apps = "apps.kruise.io";

function image(chance: Chance): string {
  return chance.oneOf(images);
}

function amount(chance: Chance, most: number): number | string {
  return chance.is(0.3) ? `${chance.oneOf([10, 25, 34, 50, 100])}%` : chance.whole(1, most);
}

function partition(chance: Chance): number | string {
  return chance.is(0.5) ? 0 : chance.is(0.6) ? `${chance.oneOf([20, 50, 90])}%` : chance.whole(1, 4);
}

function template(name: string, chance: Chance, more: object = {}): object {
  return {
    metadata: { labels: { app: name, group: "simulated" } },
    spec: {
      terminationGracePeriodSeconds: chance.oneOf([0, 1, 10]),
      containers: [{ name: "main", image: image(chance) }],
      ...more,
    },
  };
}

function selector(name: string): object {
  return { matchLabels: { app: name } };
}

function newImage(chance: Chance): object {
  return { spec: { template: { spec: { containers: [{ name: "main", image: image(chance) }] } } } };
}

function newEnvironment(chance: Chance): object {
  const env = [{ name: "ROUND", value: String(chance.whole(1, 9)) }];
  return { spec: { template: { spec: { containers: [{ name: "main", image: image(chance), env }] } } } };
}

function newAnnotation(chance: Chance): object {
  return { spec: { template: { metadata: { annotations: { round: String(chance.whole(1, 9)) } } } } };
}

function object(
  version: string,
  plural: string,
  kind: string,
  at: { readonly namespace?: string; readonly name: string },
  spec: object,
  change: (chance: Chance) => object,
): Applied {
  const [group = "", number = ""] = version.split("/");
  const place = at.namespace === undefined ? "" : `/namespaces/${at.namespace}`;
  return {
    path: `/apis/${group}/${number}${place}/${plural}/${at.name}`,
    manifest: { apiVersion: version, kind, metadata: { ...at }, spec },
    change,
  };
}

const cloneSet: Maker = (chance, namespace, name) => {
  const type = chance.oneOf(["InPlaceIfPossible", "InPlaceIfPossible", "ReCreate", "InPlaceOnly"]);
  const strategy = (each: Chance): object => ({
    maxUnavailable: amount(each, 3),
    partition: partition(each),
    ...(type === "InPlaceOnly" ? {} : { maxSurge: each.is(0.3) ? each.whole(1, 2) : 0 }),
  });
  return object(
    `${apps}/v1alpha1`,
    "clonesets",
    "CloneSet",
    { namespace, name },
    {
      replicas: chance.is(0.1) ? chance.whole(15, 30) : chance.whole(0, 7),
      selector: selector(name),
      template: template(name, chance),
      minReadySeconds: chance.oneOf([0, 0, 5]),
      revisionHistoryLimit: chance.whole(1, 3),
      updateStrategy: { type, paused: chance.is(0.1), ...strategy(chance) },
    },
    (each) => {
      switch (each.whole(0, 7)) {
        case 0:
          return { spec: { replicas: each.whole(0, 8) } };
        case 1:
          return { spec: { updateStrategy: strategy(each) } };
        case 2:
          return { spec: { updateStrategy: { paused: each.is(0.4) } } };
        case 3:
          return type === "InPlaceOnly" ? newImage(each) : newEnvironment(each);
        case 4:
          return type === "InPlaceOnly" ? newImage(each) : newAnnotation(each);
        default:
          return newImage(each);
      }
    },
  );
};

const statefulSet: Maker = (chance, namespace, name) => {
  const rolling = (each: Chance): object => ({
    maxUnavailable: amount(each, 2),
    partition: each.is(0.5) ? 0 : each.whole(1, 4),
  });
  const podUpdatePolicy = chance.oneOf(["InPlaceIfPossible", "ReCreate", "InPlaceOnly"]);
  return object(
    `${apps}/v1beta1`,
    "statefulsets",
    "StatefulSet",
    { namespace, name },
    {
      replicas: chance.whole(0, 5),
      serviceName: name,
      selector: selector(name),
      podManagementPolicy: chance.oneOf(["OrderedReady", "Parallel"]),
      template: template(name, chance, { readinessGates: [{ conditionType: "InPlaceUpdateReady" }] }),
      revisionHistoryLimit: chance.whole(1, 3),
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { podUpdatePolicy, paused: chance.is(0.2), ...rolling(chance) },
      },
    },
    (each) => {
      switch (each.whole(0, 6)) {
        case 0:
          return { spec: { replicas: each.whole(0, 6) } };
        case 1:
          return { spec: { updateStrategy: { rollingUpdate: rolling(each) } } };
        case 2:
          return { spec: { updateStrategy: { rollingUpdate: { paused: each.is(0.4) } } } };
        case 3:
          return podUpdatePolicy === "InPlaceOnly" ? newImage(each) : newEnvironment(each);
        case 4:
          return { spec: { reserveOrdinals: each.is(0.5) ? [] : [each.whole(0, 3)] } };
        default:
          return newImage(each);
      }
    },
  );
};

const daemonSet: Maker = (chance, namespace, name) => {
  const rolling = (each: Chance): object => ({
    maxUnavailable: amount(each, 2),
    partition: each.is(0.6) ? 0 : each.whole(1, 2),
  });
  const rollingUpdateType = chance.oneOf(["Standard", "InPlaceIfPossible"]);
  return object(
    `${apps}/v1alpha1`,
    "daemonsets",
    "DaemonSet",
    { namespace, name },
    {
      selector: selector(name),
      template: template(name, chance),
      revisionHistoryLimit: chance.whole(1, 3),
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { rollingUpdateType, paused: chance.is(0.2), ...rolling(chance) },
      },
    },
    (each) => {
      switch (each.whole(0, 4)) {
        case 0:
          return { spec: { updateStrategy: { rollingUpdate: rolling(each) } } };
        case 1:
          return { spec: { updateStrategy: { rollingUpdate: { paused: each.is(0.4) } } } };
        case 2:
          return newEnvironment(each);
        default:
          return newImage(each);
      }
    },
  );
};

const sidecarSet: Maker = (chance, namespace, name) => {
  const strategy = (each: Chance): object => ({
    type: "RollingUpdate",
    maxUnavailable: amount(each, 3),
    partition: each.is(0.6) ? 0 : each.whole(1, 3),
    paused: each.is(0.3),
  });
  const containers = (each: Chance): object[] => [
    { name: `side-${name}`, image: `side:${each.whole(1, 4)}` },
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

const broadcastJob: Maker = (chance, namespace, name) =>
  object(
    `${apps}/v1alpha1`,
    "broadcastjobs",
    "BroadcastJob",
    { namespace, name },
    {
      parallelism: amount(chance, 3),
      template: {
        metadata: { annotations: { "sandbox.refit.dev/exit": "0@2s" } },
        spec: { restartPolicy: "Never", containers: [{ name: "main", image: image(chance) }] },
      },
      completionPolicy: { type: "Always" },
    },
    (each) => ({ spec: { parallelism: amount(each, 3) } }),
  );

const imagePullJob: Maker = (chance, namespace, name) =>
  object(
    `${apps}/v1alpha1`,
    "imagepulljobs",
    "ImagePullJob",
    { namespace, name },
    { image: image(chance), parallelism: chance.whole(1, 2), completionPolicy: { type: "Always" } },
    (each) => ({ spec: { parallelism: each.whole(1, 3) } }),
  );

const unitedDeployment: Maker = (chance, namespace, name) =>
  object(
    `${apps}/v1alpha1`,
    "uniteddeployments",
    "UnitedDeployment",
    { namespace, name },
    {
      replicas: chance.whole(0, 6),
      selector: selector(name),
      template: {
        cloneSetTemplate: {
          metadata: { labels: { app: name } },
          spec: {
            selector: selector(name),
            template: template(name, chance),
            updateStrategy: {
              type: "RollingUpdate",
              rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible" },
            },
          },
        },
      },
      topology: { subsets: [{ name: "one" }, { name: "two", ...(chance.is(0.4) ? { replicas: 1 } : {}) }] },
    },
    (each) => {
      const containers = [{ name: "main", image: image(each) }];
      return each.is(0.5)
        ? { spec: { replicas: each.whole(0, 6) } }
        : { spec: { template: { cloneSetTemplate: { spec: { template: { spec: { containers } } } } } } };
    },
  );

/** A run each minute, until all is well: then it is paused. */
const cronJob: Maker = (chance, namespace, name) => {
  const changed = (each: Chance): object => ({
    concurrencyPolicy: each.oneOf(["Allow", "Forbid", "Replace"]),
    paused: each.is(0.2),
  });
  return object(
    `${apps}/v1alpha1`,
    "advancedcronjobs",
    "AdvancedCronJob",
    { namespace, name },
    {
      schedule: "*/1 * * * *",
      successfulJobsHistoryLimit: chance.whole(0, 2),
      failedJobsHistoryLimit: chance.whole(0, 2),
      ...changed(chance),
      template: {
        broadcastJobTemplate: {
          spec: {
            completionPolicy: { type: "Always" },
            template: {
              metadata: { annotations: { "sandbox.refit.dev/exit": "0@2s" } },
              spec: { restartPolicy: "Never", containers: [{ name: "main", image: image(chance) }] },
            },
          },
        },
      },
    },
    (each) => ({ spec: changed(each) }),
  );
};

const resourceDistribution: Maker = (chance, namespace, name) => {
  const resource = (each: Chance): object => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    data: { round: String(each.whole(1, 9)) },
  });
  return object(
    `${apps}/v1alpha1`,
    "resourcedistributions",
    "ResourceDistribution",
    { name },
    { resource: resource(chance), targets: { includedNamespaces: { list: [{ name: namespace }] } } },
    (each) => ({ spec: { resource: resource(each) } }),
  );
};

export const makers: readonly [Maker, ...Maker[]] = [
  cloneSet,
  cloneSet,
  cloneSet,
  statefulSet,
  statefulSet,
  daemonSet,
  sidecarSet,
  broadcastJob,
  imagePullJob,
  unitedDeployment,
  cronJob,
  resourceDistribution,
];

/** What people put over a workload: a budget of its pods, or how they are spread. */
export function companionOf(chance: Chance, { manifest }: Applied): Applied | undefined {
  const { namespace, name } = manifest.metadata;
  const isClones = manifest.kind === "CloneSet";
  if (namespace === undefined || !(isClones || manifest.kind === "StatefulSet")) return undefined;
  const targetRef = { apiVersion: manifest.apiVersion, kind: manifest.kind, name };
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
