/** The kinds that the rollout commands know, and how they differ. */
import { CliError } from "../errors.ts";
import type { AnyObject } from "../fields.ts";
import { pluralName, type ResourceType } from "../resource_types.ts";
import { cloneSetProgress, cloneSetStrategyPath } from "./clone_set.ts";
import { daemonSetProgress } from "./daemon_set.ts";
import { deploymentProgress } from "./deployment.ts";
import type { Progress } from "./progress.ts";
import { advancedStatefulSetProgress, statefulSetProgress } from "./stateful_set.ts";

export interface Workload {
  readonly group: string;
  readonly kind: string;
  progress(object: AnyObject): Progress;
  /** Path of the flag that holds updates back, for kinds that can be paused by command. */
  pausedPath?(apiVersion: string | undefined): readonly string[];
  /** What keeps former templates. */
  readonly history: "ControllerRevision" | "ReplicaSet";
  /** How a restart is written: an environment variable always recreates or restarts, also in place. */
  readonly restart: "environment" | "annotation";
}

const pausedDeployment = (): readonly string[] => ["spec", "paused"];
const pausedCloneSet = (apiVersion: string | undefined): readonly string[] => [
  ...cloneSetStrategyPath(apiVersion),
  "paused",
];
const pausedDaemonSet = (): readonly string[] => ["spec", "updateStrategy", "rollingUpdate", "paused"];

export const workloads: readonly Workload[] = [
  kruise("CloneSet", cloneSetProgress, pausedCloneSet),
  kruise("StatefulSet", advancedStatefulSetProgress),
  kruise("DaemonSet", daemonSetProgress, pausedDaemonSet),
  { ...builtin("Deployment", deploymentProgress), history: "ReplicaSet", pausedPath: pausedDeployment },
  builtin("StatefulSet", statefulSetProgress),
  builtin("DaemonSet", daemonSetProgress),
];

function kruise(kind: string, progress: Workload["progress"], pausedPath?: Workload["pausedPath"]): Workload {
  const workload: Workload = {
    group: "apps.kruise.io",
    kind,
    progress,
    history: "ControllerRevision",
    restart: "environment",
  };
  return pausedPath === undefined ? workload : { ...workload, pausedPath };
}

function builtin(kind: string, progress: Workload["progress"]): Workload {
  return { group: "apps", kind, progress, history: "ControllerRevision", restart: "annotation" };
}

/** Undefined for a kind without rollouts. */
export function workloadNamed(type: ResourceType): Workload | undefined {
  return workloads.find((workload) => workload.group === type.group && workload.kind === type.kind);
}

/** Throws CliError for a kind without rollouts. */
export function workloadOf(type: ResourceType, verb: string): Workload {
  const found = workloadNamed(type);
  if (found !== undefined) return found;
  throw new CliError(`${verb} is not supported on ${pluralName(type)}: it has no rollouts`);
}
