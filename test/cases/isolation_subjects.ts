/** One object of every kind of the controller's list, made so that it has dependants and something to go wrong with. */
import { kinds } from "../../controller/index.ts";
import { gatedObjects, minimalObjects } from "../../testkit/controller/minimal_objects.ts";
import type { Item } from "../cluster/api.ts";
import { task } from "./jobs.ts";
import { claimTemplate, container } from "./manifests.ts";

/** Where a set of subjects lives: the same objects stand in two places, of which one is attacked. */
export interface Side {
  readonly namespace: string;
}

export interface Subject {
  readonly kind: string;
  /** Plural, version and group, as the suites name resources. */
  readonly resource: string;
  readonly isClusterScoped: boolean;
  nameOn(side: Side): string;
  /** Undefined where the program makes the objects: the first one that there is stands for all. */
  manifest(side: Side): object | undefined;
}

export const goodImage = "nginx:1.20";
export const nextImage = "nginx:1.21";

const labelsOf = (what: string) => ({ case: `isolation-${what}` });

function pods(what: string, image = goodImage): object {
  return {
    metadata: { labels: labelsOf(what) },
    spec: { terminationGracePeriodSeconds: 1, containers: [container("main", image)] },
  };
}

function workload(what: string, more: object): object {
  return { selector: { matchLabels: labelsOf(what) }, template: pods(what), ...more };
}

const running = task({ command: ["sleep", "86400"] });

/** Once a day, last some minutes ago: it does not run by itself meanwhile, only once it is said to have missed that. */
const missed = dailyAt(new Date(Date.now() - 300_000));

function dailyAt(time: Date): string {
  return `${time.getUTCMinutes()} ${time.getUTCHours()} * * *`;
}

/** Kinds of which the smallest object has no dependants. */
const specs: Readonly<Record<string, (side: Side) => object>> = {
  CloneSet: ({ namespace }) =>
    workload("clone", {
      replicas: 3,
      updateStrategy: { rollingUpdate: { partition: 2 } },
      volumeClaimTemplates: [claimTemplate("data", namespace)],
    }),
  StatefulSet: () =>
    workload("set", {
      replicas: 2,
      podManagementPolicy: "Parallel",
      updateStrategy: { rollingUpdate: { partition: 1 } },
    }),
  DaemonSet: () => workload("daemon", {}),
  BroadcastJob: () => ({
    template: running,
    completionPolicy: { type: "Never" },
    failurePolicy: { type: "FailFast" },
  }),
  AdvancedCronJob: () => ({
    schedule: missed,
    timeZone: "UTC",
    concurrencyPolicy: "Forbid",
    template: { jobTemplate: { spec: { template: running } } },
  }),
  ImageListPullJob: () => ({
    images: [goodImage, "busybox:1.34"],
    completionPolicy: { type: "Never" },
  }),
  SidecarSet: ({ namespace }) => ({
    selector: { matchLabels: labelsOf("clone") },
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    containers: [container("side", "busybox:1.34", { command: ["sleep", "86400"] })],
  }),
  UnitedDeployment: () => ({
    replicas: 2,
    selector: { matchLabels: labelsOf("united") },
    template: {
      cloneSetTemplate: { metadata: { labels: labelsOf("united") }, spec: workload("united", {}) },
    },
    topology: { subsets: [{ name: "subset-a" }] },
  }),
  // Those that own nothing are about pods of the others, which are copied with their labels and owners.
  WorkloadSpread: () => ({
    targetRef: { apiVersion: "apps.kruise.io/v1beta1", kind: "CloneSet", name: "clone" },
    subsets: [{ name: "subset-a" }],
  }),
  // It says what it counts, and refuses nothing.
  PodUnavailableBudget: () => ({ selector: { matchLabels: labelsOf("set") }, maxUnavailable: "100%" }),
  PersistentPodState: () => ({
    ...specOf("PersistentPodState"),
    targetRef: { apiVersion: "apps.kruise.io/v1beta1", kind: "StatefulSet", name: "set" },
  }),
  // Its first result is there before anybody looks, and then nothing changes.
  PodProbeMarker: () => ({
    selector: { matchLabels: labelsOf("set") },
    probes: [
      {
        name: "alive",
        containerName: "main",
        podConditionType: "case.example/alive",
        probe: { exec: { command: ["true"] }, periodSeconds: 1 },
      },
    ],
  }),
  EphemeralJob: () => ({ ...specOf("EphemeralJob"), selector: { matchLabels: labelsOf("set") } }),
};

/** Kinds whose objects need one of another subject, by name. */
const needs: Readonly<Record<string, object>> = {
  ContainerRecreateRequest: { podName: "set-0", containers: [{ name: "main" }], strategy: {} },
};

/** Default: the plural name. */
const names: Readonly<Record<string, string>> = { StatefulSet: "set", CloneSet: "clone" };

const samples = [...minimalObjects, ...gatedObjects];

/** Of the smallest object of the kind. */
function specOf(kind: string): object | undefined {
  return samples.find((known) => known.kind === kind)?.spec;
}

/** One of each kind of the list. */
export const subjects: readonly Subject[] = kinds.map(subjectOf);

function subjectOf({
  resource: { kind, plural, version, group, namespaced },
  perNode,
}: (typeof kinds)[number]): Subject {
  const sample = samples.find((known) => known.kind === kind);
  const spec = specs[kind] ?? (() => needs[kind] ?? specOf(kind));
  const resource = sample?.resource ?? `${plural}.${version}.${group}`;
  const [, served = version] = resource.split(".");
  return {
    kind,
    resource,
    isClusterScoped: !namespaced,
    nameOn: ({ namespace }) => (namespaced ? (names[kind] ?? plural) : namespace),
    manifest(side) {
      const wanted = spec(side);
      if (wanted === undefined && !perNode)
        throw new Error(`there is no object of kind ${kind}: add one to minimal_objects.ts`);
      if (wanted === undefined) return undefined;
      const metadata = { name: this.nameOn(side) };
      return { apiVersion: `${group}/${served}`, kind, metadata, spec: wanted };
    },
  };
}

export function ownerReferenceTo({ apiVersion, kind, metadata: { name, uid } }: Item): object {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}
