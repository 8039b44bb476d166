/** Objects in namespaces of others that claim to be a subject's: copies of its real dependants, and one of every sort. */
import type { Item } from "../cluster/api.ts";
import { task } from "./jobs.ts";
import { container } from "./manifests.ts";

export const evilImage = "evil:666";
/** Keeps an object that is being deleted in sight, as anybody may who writes it. */
export const holdingFinalizer = "case.example/held";
/** Of those that nobody can delete while a webhook refuses it. */
export const liveLabel = "case-isolation-live";

/** What may have an owner, whether a subject has one of it or not. */
export const plainSorts = ["pods", "controllerrevisions", "persistentvolumeclaims", "jobs.v1.batch"] as const;
export const customSorts = [
  "broadcastjobs.v1beta1.apps.kruise.io",
  "imagelistpulljobs.v1beta1.apps.kruise.io",
  "imagepulljobs.v1beta1.apps.kruise.io",
  "clonesets.v1beta1.apps.kruise.io",
  "statefulsets.v1beta1.apps.kruise.io",
  "statefulsets.v1.apps",
  "deployments.v1.apps",
] as const;

const nowhere = { "case/no-such-label": "true" };
const pod = { spec: { containers: [container("main", evilImage)] } };
const schedulerOfNobody = { schedulerName: "case.example-nobody" };
/** It stays in the state that it is given. */
const unstarted = { spec: { ...pod.spec, ...schedulerOfNobody } };

function workload(labels: object): object {
  const matchLabels = { impostor: "true", ...labels };
  return {
    replicas: 0,
    selector: { matchLabels },
    template: { metadata: { labels: matchLabels }, ...pod },
  };
}

/** By sort: what makes it one. */
const bodies: Readonly<Record<string, (labels: object) => object>> = {
  pods: () => ({ apiVersion: "v1", kind: "Pod", ...unstarted }),
  persistentvolumeclaims: () => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    spec: {
      storageClassName: "none",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Mi" } },
    },
  }),
  // Unfinished for as long as it stands.
  "jobs.v1.batch": () => ({
    apiVersion: "batch/v1",
    kind: "Job",
    spec: { suspend: true, template: task() },
  }),
  "broadcastjobs.v1beta1.apps.kruise.io": () => ({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "BroadcastJob",
    spec: {
      paused: true,
      completionPolicy: { type: "Never" },
      template: task({ podSpec: { nodeSelector: nowhere } }),
    },
  }),
  "imagelistpulljobs.v1beta1.apps.kruise.io": () => ({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ImageListPullJob",
    spec: {
      images: ["busybox:1.34"],
      selector: { matchLabels: nowhere },
      completionPolicy: { type: "Never" },
    },
  }),
  "imagepulljobs.v1beta1.apps.kruise.io": () => ({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ImagePullJob",
    spec: { image: "busybox:1.34", selector: { matchLabels: nowhere }, completionPolicy: { type: "Never" } },
  }),
  "clonesets.v1beta1.apps.kruise.io": (labels) => ({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    spec: workload(labels),
  }),
  "statefulsets.v1beta1.apps.kruise.io": (labels) => ({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "StatefulSet",
    spec: workload(labels),
  }),
  "statefulsets.v1.apps": (labels) => ({
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    spec: workload(labels),
  }),
  "deployments.v1.apps": (labels) => ({ apiVersion: "apps/v1", kind: "Deployment", spec: workload(labels) }),
};

const revisionKind = { apiVersion: "apps/v1", kind: "ControllerRevision" };

function typeOf(sort: string): object {
  const { apiVersion, kind } = { apiVersion: "", kind: "", ...bodyOf(sort, {}) };
  return { apiVersion, kind };
}

/** Throws for a sort of which none is known. */
function bodyOf(sort: string, labels: object): object {
  const body = bodies[sort];
  if (body === undefined) throw new Error(`no impostor of ${sort} is known`);
  return body(labels);
}

interface ImpostorMetadata {
  readonly name: string;
  readonly labels: object;
  readonly annotations?: object;
  /** Absent for an orphan. */
  readonly ownerReferences?: readonly object[];
}

export interface Impostor {
  readonly resource: string;
  readonly manifest: { readonly metadata: ImpostorMetadata; readonly [field: string]: unknown };
}

/**
 * The same without an owner: what its labels and its name may have adopted. Nobody starts its pods, and they have no gate,
 * which is opened for pods of no workload as long as they run.
 */
export function orphaned({ resource, manifest }: Impostor): Impostor {
  const { ownerReferences: _, ...metadata } = manifest.metadata;
  const { spec } = manifest;
  const { nodeName: _node, readinessGates: _gates, ...unbound } = { ...Object(spec) };
  const pod = resource === "pods" ? { spec: { ...unbound, ...schedulerOfNobody } } : {};
  return { resource, manifest: { ...manifest, ...pod, metadata } };
}

/** One of the sort for a subject that has none of it. `labels`: those that select what is the subject's. */
export function impostorsOf(sort: string, subject: Item, owner: object, labels: object): Impostor[] {
  const name = `${subject.kind.toLowerCase()}-${subject.metadata.name}`;
  const metadata = (called: string) => ({
    name: called,
    labels: {
      ...labels,
      "apps.kruise.io/subset-name": "subset-a",
      "apps.kruise.io/cloneset-instance-id": "evil1",
    },
    ownerReferences: [owner],
  });
  if (sort === "controllerrevisions") {
    const template = { metadata: { labels }, ...pod };
    // The oldest and the newest: either may be taken for the one that counts.
    return [0, 1_000].map((revision) => ({
      resource: sort,
      manifest: {
        ...revisionKind,
        metadata: metadata(`${name}-evil-${revision}`),
        revision,
        data: { spec: { template: { $patch: "replace", ...template } } },
      },
    }));
  }
  return [{ resource: sort, manifest: { ...bodyOf(sort, labels), metadata: metadata(`${name}-evil`) } }];
}

/** A copy of what the subject really has, under the same name, with another image. */
export function copyOf(resource: string, item: Item, owner: object): Impostor {
  const { metadata, spec, data, revision } = item;
  const { name, labels = {}, annotations = {} } = metadata;
  // Neither is of a new object: the server refuses one, and a volume is bound once.
  const { volumeName: _bound, ephemeralContainers: _added, ...wanted } = spec ?? {};
  return {
    resource,
    manifest: {
      // What a list holds does not say its kind.
      ...(resource === "controllerrevisions" ? revisionKind : typeOf(resource)),
      ...(spec === undefined ? {} : { spec: "image" in wanted ? pullingNowhere(wanted) : poisoned(wanted) }),
      // The lowest number is looked at first.
      ...(revision === undefined ? {} : { revision: 0, data: poisoned(data) }),
      metadata: { name, labels, annotations, ownerReferences: [owner] },
    },
  };
}

/** Of the same image, or it would be taken for nobody's; nodes are everybody's, and what is pulled there is seen. */
function pullingNowhere(spec: object): object {
  return { ...spec, selector: { matchLabels: nowhere } };
}

function poisoned(value: unknown): unknown {
  const text = JSON.stringify(value).replaceAll(/"image":"[^"]*"/g, `"image":"${evilImage}"`);
  return JSON.parse(text);
}
