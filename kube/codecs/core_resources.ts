/** Core kinds that the controller caches, as resources: where they are served and what is kept of them. */
import { core, decode, type Message } from "../../proto/core/index.ts";
import type { Resource } from "../client_types.ts";
import type { Taint } from "../core/index.ts";
import type { Pod } from "../pod.ts";
import {
  type CoreCondition,
  conditionOf,
  type Metadata,
  metadataOf,
  quantities,
  timeOf,
} from "./metadata.ts";
import { PodReader } from "./pod_reader.ts";
import { identifyProjection, protobufCodec } from "./projection.ts";

type Place = Omit<Resource<unknown>, "codec">;

const pods: Place = { group: "", version: "v1", plural: "pods", kind: "Pod", namespaced: true };

/** Pods as kube/pod.ts describes them. Each call has its own tables of shared values. */
export function createPodResource(): Resource<Pod> {
  const reader = new PodReader();
  return {
    ...pods,
    codec: protobufCodec<Pod>({
      apiVersion: "v1",
      kind: "Pod",
      fromWire: (message) => reader.read(message),
      identify: identifyProjection,
    }),
  };
}

/** Shares equal parts between all pods of the process; the tables are bounded and change nothing that is observable. */
export const podResource: Resource<Pod> = createPodResource();

function resource<M, T extends Metadata>(
  place: Place,
  type: Message<M>,
  project: (message: M) => T,
): Resource<T> {
  const { group, version, kind } = place;
  return {
    ...place,
    codec: protobufCodec<T>({
      apiVersion: group === "" ? version : `${group}/${version}`,
      kind,
      fromWire: (bytes) => project(decode(type, bytes)),
      identify: identifyProjection,
    }),
  };
}

export interface PersistentVolumeClaim extends Metadata {
  /** `Pending` | `Bound` | `Lost`. */
  readonly phase: string;
  readonly storageClassName: string | undefined;
  readonly volumeName: string;
  readonly accessModes: readonly string[];
  /** `status.capacity`: what it has. */
  readonly capacity: Readonly<Record<string, string>>;
  /** `spec.resources.requests`: what it wants. */
  readonly requests: Readonly<Record<string, string>>;
  readonly conditions: readonly CoreCondition[];
}

export const persistentVolumeClaimResource: Resource<PersistentVolumeClaim> = resource(
  {
    group: "",
    version: "v1",
    plural: "persistentvolumeclaims",
    kind: "PersistentVolumeClaim",
    namespaced: true,
  },
  core.PersistentVolumeClaim,
  ({ metadata, spec, status }) => ({
    ...metadataOf(metadata),
    phase: status?.phase ?? "",
    storageClassName: spec?.storageClassName || undefined,
    volumeName: spec?.volumeName ?? "",
    accessModes: spec?.accessModes ?? [],
    capacity: quantities(status?.capacity ?? {}),
    requests: quantities(spec?.resources?.requests ?? {}),
    conditions: (status?.conditions ?? []).map(conditionOf),
  }),
);

export interface Node extends Metadata {
  readonly taints: readonly Taint[];
  readonly unschedulable: boolean;
  readonly conditions: readonly CoreCondition[];
  readonly allocatable: Readonly<Record<string, string>>;
}

export const nodeResource: Resource<Node> = resource(
  { group: "", version: "v1", plural: "nodes", kind: "Node", namespaced: false },
  core.Node,
  ({ metadata, spec, status }) => ({
    ...metadataOf(metadata),
    taints: (spec?.taints ?? []).map(({ key, value, effect }) => ({ key, value, effect })),
    unschedulable: spec?.unschedulable ?? false,
    conditions: (status?.conditions ?? []).map(conditionOf),
    allocatable: quantities(status?.allocatable ?? {}),
  }),
);

export interface ControllerRevision extends Metadata {
  readonly revision: number;
  /** The raw JSON of `data`. */
  readonly data: string;
}

const text = new TextDecoder();

export const controllerRevisionResource: Resource<ControllerRevision> = resource(
  {
    group: "apps",
    version: "v1",
    plural: "controllerrevisions",
    kind: "ControllerRevision",
    namespaced: true,
  },
  core.ControllerRevision,
  ({ metadata, revision, data }) => ({
    ...metadataOf(metadata),
    revision,
    data: data ? text.decode(data.raw) : "",
  }),
);

/** Of a namespace only metadata is kept: selectors of namespaces ask for its labels. */
export type Namespace = Metadata;

export const namespaceResource: Resource<Namespace> = resource(
  { group: "", version: "v1", plural: "namespaces", kind: "Namespace", namespaced: false },
  core.Namespace,
  ({ metadata }) => metadataOf(metadata),
);

export interface Job extends Metadata {
  readonly suspended: boolean;
  readonly active: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly startedAt: number | undefined;
  readonly completedAt: number | undefined;
  /** `Complete`, `Failed`, `Suspended`, ... */
  readonly conditions: readonly CoreCondition[];
}

export const jobResource: Resource<Job> = resource(
  { group: "batch", version: "v1", plural: "jobs", kind: "Job", namespaced: true },
  core.Job,
  ({ metadata, spec, status }) => ({
    ...metadataOf(metadata),
    suspended: spec?.suspend ?? false,
    active: status?.active ?? 0,
    succeeded: status?.succeeded ?? 0,
    failed: status?.failed ?? 0,
    startedAt: timeOf(status?.startTime),
    completedAt: timeOf(status?.completionTime),
    conditions: (status?.conditions ?? []).map(conditionOf),
  }),
);
