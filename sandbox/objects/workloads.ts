/** Typed views of the built-in workloads that the sandbox's own loops carry out. */
import {
  type Condition,
  type IntOrString,
  isJsonObject,
  type LabelSelector,
  type OwnerReference,
} from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import type { PodSpec } from "./pods.ts";
import type { ClaimObject } from "./volumes.ts";

export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string>; finalizers?: string[] };
  spec: PodSpec;
}

interface Workload<Spec, Status> {
  spec: Spec;
  status?: Status;
}

export type ReplicaSetObject = StoredObject &
  Workload<
    { replicas?: number; minReadySeconds?: number; selector?: LabelSelector; template: PodTemplate },
    {
      replicas?: number;
      fullyLabeledReplicas?: number;
      readyReplicas?: number;
      availableReplicas?: number;
      terminatingReplicas?: number;
      observedGeneration?: number;
    }
  >;

export interface DeploymentStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  unavailableReplicas?: number;
  conditions?: Condition[];
  collisionCount?: number;
}

export type DeploymentObject = StoredObject &
  Workload<
    {
      replicas?: number;
      minReadySeconds?: number;
      paused?: boolean;
      revisionHistoryLimit?: number;
      progressDeadlineSeconds?: number;
      selector?: LabelSelector;
      template: PodTemplate;
      strategy?: {
        type?: string;
        rollingUpdate?: { maxSurge?: IntOrString; maxUnavailable?: IntOrString };
      };
    },
    DeploymentStatus
  >;

export interface StatefulSetStatus {
  observedGeneration?: number;
  replicas?: number;
  readyReplicas?: number;
  currentReplicas?: number;
  updatedReplicas?: number;
  availableReplicas?: number;
  currentRevision?: string;
  updateRevision?: string;
  collisionCount?: number;
}

export type StatefulSetObject = StoredObject &
  Workload<
    {
      replicas?: number;
      minReadySeconds?: number;
      serviceName?: string;
      podManagementPolicy?: string;
      revisionHistoryLimit?: number;
      selector?: LabelSelector;
      template: PodTemplate;
      ordinals?: { start?: number };
      updateStrategy?: { type?: string; rollingUpdate?: { partition?: number } };
      volumeClaimTemplates?: ClaimObject[];
      persistentVolumeClaimRetentionPolicy?: { whenDeleted?: string; whenScaled?: string };
    },
    StatefulSetStatus
  >;

export interface DaemonSetStatus {
  currentNumberScheduled?: number;
  numberMisscheduled?: number;
  desiredNumberScheduled?: number;
  numberReady?: number;
  observedGeneration?: number;
  updatedNumberScheduled?: number;
  numberAvailable?: number;
  numberUnavailable?: number;
  collisionCount?: number;
}

export type DaemonSetObject = StoredObject &
  Workload<
    {
      minReadySeconds?: number;
      revisionHistoryLimit?: number;
      selector?: LabelSelector;
      template: PodTemplate;
      updateStrategy?: {
        type?: string;
        rollingUpdate?: { maxUnavailable?: IntOrString; maxSurge?: IntOrString };
      };
    },
    DaemonSetStatus
  >;

export interface JobStatus {
  active?: number;
  ready?: number;
  succeeded?: number;
  failed?: number;
  terminating?: number;
  startTime?: string;
  completionTime?: string;
  completedIndexes?: string;
  conditions?: Condition[];
}

export type JobObject = StoredObject &
  Workload<
    {
      parallelism?: number;
      completions?: number;
      backoffLimit?: number;
      activeDeadlineSeconds?: number;
      ttlSecondsAfterFinished?: number;
      suspend?: boolean;
      completionMode?: string;
      selector?: LabelSelector;
      template: PodTemplate;
    },
    JobStatus
  >;

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
