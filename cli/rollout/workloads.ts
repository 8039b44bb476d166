/** The kinds that the rollout commands know, and how they differ. */

import type { ClusterAccess } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at } from "../fields.ts";
import { isOfKind, pluralName, type ResourceType } from "../resource_types.ts";
import { cloneSetProgress, cloneSetStrategyPath } from "./clone_set.ts";
import { daemonSetProgress } from "./daemon_set.ts";
import { deploymentProgress } from "./deployment.ts";
import {
  cloneSetPartition,
  daemonSetPartition,
  keeping,
  type Partition,
  sidecarSetPartition,
  statefulSetPartition,
  unitedDeploymentPartitions,
} from "./partition.ts";
import type { Progress } from "./progress.ts";
import { type Revised, revisedTemplate } from "./revised.ts";
import { sidecarSetProgress } from "./sidecar_set.ts";
import { advancedStatefulSetProgress, statefulSetProgress } from "./stateful_set.ts";
import { unitedDeploymentProgress } from "./united_deployment.ts";

export interface Workload {
  readonly group: string;
  readonly kind: string;
  progress(object: AnyObject): Progress;
  /** The object with a status that counts only pods that the rollout is about; absent: its status never counts others. */
  counted?(access: ClusterAccess, object: AnyObject): Promise<AnyObject>;
  /** Path of the flag that holds updates back, for kinds that can be paused by command. */
  pausedPath?(apiVersion: string | undefined): readonly string[];
  /** What keeps pods at the old revision, for kinds with one partition. */
  readonly partition?: (object: AnyObject) => Partition;
  /** For kinds with a partition of each subset: those that keep any. */
  readonly subsetPartitions?: (object: AnyObject) => readonly Partition[];
  /** While it is paused neither its pods can be restarted nor a former template put back. */
  readonly frozenWhilePaused?: true;
  /** What keeps former templates. */
  readonly history: "ControllerRevision" | "ReplicaSet";
  readonly revised: () => Promise<Revised>;
  /** Whether `status.updateRevision` names the newest template; that of a DaemonSet tells a hash. */
  readonly namesRevision?: true;
  /** How a restart is written: a variable of the environment restarts in any case. Undefined: its pods belong to others. */
  readonly restart?: "environment" | "annotation";
}

const ofTemplates = { history: "ControllerRevision", revised: async () => revisedTemplate } as const;
const kruise = { ...ofTemplates, group: "apps.kruise.io", restart: "environment" } as const;
const builtin = { ...ofTemplates, group: "apps", restart: "annotation" } as const;

export const workloads: readonly Workload[] = [
  {
    ...kruise,
    kind: "CloneSet",
    progress: cloneSetProgress,
    pausedPath: (apiVersion) => [...cloneSetStrategyPath(apiVersion), "paused"],
    partition: cloneSetPartition,
    namesRevision: true,
  },
  {
    ...kruise,
    kind: "StatefulSet",
    progress: advancedStatefulSetProgress,
    pausedPath: () => ["spec", "updateStrategy", "rollingUpdate", "paused"],
    partition: statefulSetPartition,
    namesRevision: true,
  },
  {
    ...kruise,
    kind: "DaemonSet",
    progress: daemonSetProgress,
    pausedPath: () => ["spec", "updateStrategy", "rollingUpdate", "paused"],
    partition: daemonSetPartition,
  },
  {
    group: "apps.kruise.io",
    kind: "SidecarSet",
    progress: sidecarSetProgress,
    counted: async (access, object) =>
      (await import("./selected_sidecars.ts")).withSelectedCounts(access, object),
    pausedPath: () => ["spec", "updateStrategy", "paused"],
    partition: sidecarSetPartition,
    history: "ControllerRevision",
    revised: async () => (await import("./revised_sidecars.ts")).revisedSidecars,
  },
  {
    ...kruise,
    kind: "UnitedDeployment",
    progress: unitedDeploymentProgress,
    subsetPartitions: unitedDeploymentPartitions,
    revised: async () => (await import("./revised_subsets.ts")).revisedSubsets,
  },
  {
    ...builtin,
    kind: "Deployment",
    progress: deploymentProgress,
    pausedPath: () => ["spec", "paused"],
    frozenWhilePaused: true,
    history: "ReplicaSet",
  },
  {
    ...builtin,
    kind: "StatefulSet",
    progress: statefulSetProgress,
    partition: statefulSetPartition,
    namesRevision: true,
  },
  { ...builtin, kind: "DaemonSet", progress: daemonSetProgress },
];

/** What keeps pods at the old revision: none where nothing does, undefined for kinds without partitions. */
export function partitionsOf(
  { partition, subsetPartitions }: Workload,
  object: AnyObject,
): readonly Partition[] | undefined {
  return partition === undefined ? subsetPartitions?.(object) : keeping(partition(object));
}

/** Whether it is paused, and nothing else can be asked of it meanwhile. */
export function isFrozen({ frozenWhilePaused, pausedPath }: Workload, object: AnyObject): boolean {
  return frozenWhilePaused === true && at(object, ...(pausedPath?.(object.apiVersion) ?? [])) === true;
}

/** How far a rollout is, by what the object's status says or, where that does not tell, by its pods. */
export async function progressOf(
  workload: Workload,
  access: ClusterAccess,
  object: AnyObject,
): Promise<Progress> {
  return workload.progress((await workload.counted?.(access, object)) ?? object);
}

/** Kinds without rollouts whose flag of that name holds back what they begin next. */
const pausedJobs: ReadonlySet<string> = new Set(["AdvancedCronJob", "BroadcastJob", "EphemeralJob"]);

/** Path of the flag that holds an object back; undefined for a kind that cannot be paused. */
export function pausedPathOf(
  type: Pick<ResourceType, "group" | "kind">,
  apiVersion: string | undefined,
): readonly string[] | undefined {
  if (type.group === "apps.kruise.io" && pausedJobs.has(type.kind)) return ["spec", "paused"];
  return workloadNamed(type)?.pausedPath?.(apiVersion);
}

/** Undefined for a kind without rollouts. */
export function workloadNamed(type: Pick<ResourceType, "group" | "kind">): Workload | undefined {
  return workloads.find(isOfKind(type));
}

/** Throws CliError for a kind without rollouts. */
export function workloadOf(type: ResourceType, verb: string): Workload {
  const found = workloadNamed(type);
  if (found !== undefined) return found;
  throw new CliError(`${verb} is not supported on ${pluralName(type)}: it has no rollouts`);
}
