/** What a plan sees of a subset's workload, whatever its kind is. Spec: uniteddeployment 4.3, 4.5. */

import type { SubsetTemplateName } from "../../../crds/index.ts";
import {
  isJsonObject,
  type JsonObject,
  type Labels,
  type OwnerReference,
  own,
  timeOf,
} from "../../../kube/core/index.ts";
import type { Resource } from "../../../kube/index.ts";
import { numberAt, objectAt, objectsAt, textAt, textsAt } from "../../native/json_fields.ts";
import { PATCH_ANNOTATION } from "./names.ts";

export interface SubsetWorkload {
  readonly template: SubsetTemplateName;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly isDeleting: boolean;
  readonly labels: Labels;
  readonly annotations: Labels;
  /** Whole: what is written follows from what differs. */
  readonly spec: JsonObject;
  /** The patch that it was made with, as JSON; empty for none. */
  readonly patch: string;
  readonly owners: readonly OwnerReference[];
  /** `spec.replicas`. */
  readonly replicas: number;
  /** Undefined where it is no integer. Always 0 where the kind has none. */
  readonly partition: number | undefined;
  /** Pods are replaced only when somebody deletes them. */
  readonly updatesOnDelete: boolean;
  /** Of its status. */
  readonly currentReplicas: number;
  readonly readyReplicas: number;
}

/** A kind of workload that subsets can be made of. */
export interface WorkloadKind {
  readonly template: SubsetTemplateName;
  /** In events. */
  readonly type: string;
  readonly resource: Pick<Resource<unknown>, "group" | "version" | "plural" | "kind" | "namespaced">;
  /** The spec with it, where its strategy has room for one. Absent: pods of the old revision cannot be kept. */
  setPartition?(spec: JsonObject, partition: number): JsonObject;
  /** Absent: the kind is not for reserve mode. */
  readonly maxUnavailable?: UnavailableLimit;
  /** Members of its spec that cannot change, nor does admission let them: they are left as they are. */
  readonly immutable: readonly string[];
  /** Whether old pods that are not ready must go for an update to go on. Rule 33. */
  readonly brokenPodsBlock?: true;
}

/** How many pods of a workload may be unavailable during its rollout. */
export interface UnavailableLimit {
  /** What the spec of a workload of this size allows; undefined where its strategy knows no limit. */
  of(spec: JsonObject, replicas: number): number | undefined;
  set(spec: JsonObject, maxUnavailable: number): JsonObject;
}

/** Reads the JSON of a workload; what is missing or of another type counts as empty. */
export function workloadOf({ template, setPartition }: WorkloadKind, object: object): SubsetWorkload {
  const json = isJsonObject(object) ? object : {};
  const [metadata, spec, status] = [
    objectAt(json, "metadata"),
    objectAt(json, "spec"),
    objectAt(json, "status"),
  ];
  return {
    template,
    namespace: textAt(metadata, "namespace"),
    name: textAt(metadata, "name"),
    uid: textAt(metadata, "uid"),
    resourceVersion: textAt(metadata, "resourceVersion"),
    createdAt: timeOf(textAt(metadata, "creationTimestamp")) ?? 0,
    isDeleting: textAt(metadata, "deletionTimestamp") !== "",
    labels: textsAt(metadata, "labels"),
    annotations: textsAt(metadata, "annotations"),
    spec,
    patch: textAt(objectAt(metadata, "annotations"), PATCH_ANNOTATION),
    owners: objectsAt(metadata, "ownerReferences").map((owner) => ({
      apiVersion: textAt(owner, "apiVersion"),
      kind: textAt(owner, "kind"),
      name: textAt(owner, "name"),
      uid: textAt(owner, "uid"),
      controller: own(owner, "controller") === true,
    })),
    replicas: numberAt(spec, "replicas") ?? 1,
    partition: setPartition === undefined ? 0 : partitionIn(spec),
    updatesOnDelete: updatesOnDelete(spec),
    currentReplicas: numberAt(status, "replicas") ?? 0,
    readyReplicas: numberAt(status, "readyReplicas") ?? 0,
  };
}

export function updatesOnDelete(spec: JsonObject): boolean {
  return objectAt(spec, "updateStrategy")["type"] === "OnDelete";
}

function partitionIn(spec: JsonObject): number | undefined {
  const rolling = objectAt(objectAt(spec, "updateStrategy"), "rollingUpdate");
  const partition = own(rolling, "partition") ?? 0;
  return typeof partition === "number" ? partition : undefined;
}
