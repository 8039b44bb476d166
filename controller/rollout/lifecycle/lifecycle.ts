/** Lifecycle states and hooks of a pod. Spec: cloneset 4.8, inplace-update 4.10. */
import type { Pod } from "../../../kube/index.ts";

export const STATE_LABEL = "lifecycle.apps.kruise.io/state";
export const STATE_TIME = "lifecycle.apps.kruise.io/timestamp";

export type LifecycleState =
  | ""
  | "PreparingNormal"
  | "Normal"
  | "PreparingUpdate"
  | "Updating"
  | "Updated"
  | "PreparingDelete";

export interface Hook {
  labelsHandler?: Record<string, string>;
  finalizersHandler?: string[];
  markPodNotReady?: boolean;
}

export interface Lifecycle {
  preDelete?: Hook;
  inPlaceUpdate?: Hook;
  preNormal?: Hook;
}

export function lifecycleState(pod: Pod): LifecycleState {
  const state = pod.labels[STATE_LABEL];
  switch (state) {
    case "PreparingNormal":
    case "Normal":
    case "PreparingUpdate":
    case "Updating":
    case "Updated":
    case "PreparingDelete":
      return state;
    default:
      return "";
  }
}

/** A hook was asked about the update or the deletion: for whoever counts the pod is out of service (spec cloneset, rules 7 and 34; statefulset, rules 33 and 35). */
export function isAsked(state: LifecycleState): boolean {
  return state === "PreparingUpdate" || state === "PreparingDelete";
}

/** Any handler present: somebody still wants to act before we go on. */
export function isHooked(pod: Pod, hook: Hook | undefined): boolean {
  if (hook === undefined) return false;
  for (const finalizer of hook.finalizersHandler ?? []) if (pod.finalizers.includes(finalizer)) return true;
  for (const [key, value] of Object.entries(hook.labelsHandler ?? {}))
    if (pod.labels[key] === value) return true;
  return false;
}

/** Every handler present: what has to act after us has taken the pod over. True for a hook without handlers, false without a hook. */
export function isAllHooked(pod: Pod, hook: Hook | undefined): boolean {
  if (hook === undefined) return false;
  for (const finalizer of hook.finalizersHandler ?? []) if (!pod.finalizers.includes(finalizer)) return false;
  for (const [key, value] of Object.entries(hook.labelsHandler ?? {}))
    if (pod.labels[key] !== value) return false;
  return true;
}

/** RFC 3339, seconds, UTC. */
export function timestamp(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}

/** Labels and annotations that put a pod into `state`. */
export function stateMetadata(
  state: Exclude<LifecycleState, "">,
  now: number,
): { labels: Record<string, string>; annotations: Record<string, string> } {
  return { labels: { [STATE_LABEL]: state }, annotations: { [STATE_TIME]: timestamp(now) } };
}
