/** Which containers of a pod may start now. Pure. Spec: containers 2.2. */
import type { Pod, PodContainer } from "../../../kube/index.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import { barrierVariable } from "./pod_step.ts";

export const launchCompletedAnnotation = "apps.kruise.io/container-launch-priority-completed";

export interface LaunchPlan {
  /** Keys that the pod's ConfigMap must have now, the highest priority first. */
  readonly keys: readonly string[];
  /** Every level has been let go: the pod is left alone from then on. */
  readonly completed: boolean;
  /** The containers of the newest level that are not ready, for the log. */
  readonly waitsFor: readonly string[];
}

/** The name of the ConfigMap whose keys hold the pod's containers back. */
export function barrierName(pod: Pick<Pod, "name">): string {
  return `${pod.name}-barrier`;
}

/** Whether containers of the pod may still have to wait for others. */
export function awaitsLaunch(pod: Pod): boolean {
  return (
    pod.annotations[launchCompletedAnnotation] !== "true" &&
    isActive(pod) &&
    pod.containers.some((container) => priorityOf(pod, container) !== undefined)
  );
}

/**
 * Levels are let go from the highest priority down, each when all containers of the levels above are ready (rule 4).
 * Keys of higher levels are among those wanted: a lost ConfigMap comes back whole.
 */
export function planLaunch(pod: Pod): LaunchPlan {
  const levels = new Map<number, string[]>();
  for (const container of pod.containers) {
    const priority = priorityOf(pod, container);
    if (priority === undefined) continue;
    const waiting = levels.get(priority) ?? [];
    levels.set(priority, waiting);
    if (!isContainerReady(pod, container.name)) waiting.push(container.name);
  }
  const sorted = [...levels].sort(([left], [right]) => right - left);
  const keys: string[] = [];
  for (const [priority, waiting] of sorted) {
    keys.push(keyOfPriority(priority));
    if (waiting.length > 0) return { keys, completed: keys.length === sorted.length, waitsFor: waiting };
  }
  return { keys, completed: true, waitsFor: [] };
}

function keyOfPriority(priority: number): string {
  return `p_${priority}`;
}

/**
 * The number in the key of the container's barrier. Variables of that name which refer to something else are the
 * user's own and hold nothing back that this controller could let go.
 */
function priorityOf(pod: Pod, container: PodContainer): number | undefined {
  let priority: number | undefined;
  for (const { name, configMapKey } of container.env) {
    if (name !== barrierVariable || configMapKey?.name !== barrierName(pod)) continue;
    const digits = /^p_(-?\d+)$/.exec(configMapKey.key)?.[1];
    if (digits !== undefined) priority = Number(digits);
  }
  return priority;
}

function isContainerReady(pod: Pod, name: string): boolean {
  return pod.containerStatuses.some((status) => status.name === name && status.ready);
}
