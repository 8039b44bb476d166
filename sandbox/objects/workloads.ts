/** Typed views of the built-in workloads that the sandbox's own loops carry out. */
import type {
  V1DaemonSetSpec,
  V1DaemonSetStatus,
  V1DeploymentSpec,
  V1DeploymentStatus,
  V1JobSpec,
  V1JobStatus,
  V1PodTemplateSpec,
  V1ReplicaSetSpec,
  V1ReplicaSetStatus,
  V1StatefulSetSpec,
  V1StatefulSetStatus,
} from "@kubernetes/client-node";
import { isJsonObject, type LabelSelector, type OwnerReference } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import type { AsJson } from "./as_json.ts";
import type { PodSpec } from "./pods.ts";
import type { ClaimObject } from "./volumes.ts";

export type PodTemplate = AsJson<V1PodTemplateSpec> & { spec: PodSpec };

type Workload<Spec, Status> = StoredObject & {
  spec: AsJson<Omit<Spec, "template" | "volumeClaimTemplates">> & { template: PodTemplate };
  status?: AsJson<Status>;
};

export type ReplicaSetObject = Workload<V1ReplicaSetSpec, V1ReplicaSetStatus>;
export type DeploymentStatus = AsJson<V1DeploymentStatus>;
export type DeploymentObject = Workload<V1DeploymentSpec, V1DeploymentStatus>;
export type StatefulSetObject = Workload<V1StatefulSetSpec, V1StatefulSetStatus> & {
  spec: { volumeClaimTemplates?: ClaimObject[] };
};
export type DaemonSetObject = Workload<V1DaemonSetSpec, V1DaemonSetStatus>;
export type JobStatus = AsJson<V1JobStatus>;
export type JobObject = Workload<V1JobSpec, V1JobStatus>;
export type ControllerRevisionObject = StoredObject & { revision: number; data?: unknown };

export function hasTemplate(
  object: StoredObject | undefined,
): object is StoredObject & { spec: { selector?: LabelSelector; template: PodTemplate } } {
  const spec = object?.["spec"];
  return isJsonObject(spec) && isJsonObject(spec["template"]) && isJsonObject(spec["template"]["spec"]);
}

export const isReplicaSet = (object: StoredObject | undefined): object is ReplicaSetObject =>
  hasTemplate(object);
export const isDeployment = (object: StoredObject | undefined): object is DeploymentObject =>
  hasTemplate(object);
export const isStatefulSet = (object: StoredObject | undefined): object is StatefulSetObject =>
  hasTemplate(object);
export const isDaemonSet = (object: StoredObject | undefined): object is DaemonSetObject =>
  hasTemplate(object);
export const isJob = (object: StoredObject | undefined): object is JobObject => hasTemplate(object);

export function isRevision(object: StoredObject | undefined): object is ControllerRevisionObject {
  return typeof object?.["revision"] === "number";
}

/** The owner that manages an object; undefined for orphans. */
export function controllerOf(object: StoredObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}
