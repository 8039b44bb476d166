/** What lifecycle hooks make of a pod before and after its update in place, and before its deletion. Spec: inplace-update 4.10. */
import type { Pod } from "../../../kube/index.ts";
import type { Decisions } from "../decisions.ts";
import { addNotReadyKey, PRE_DELETE_KEY, PRE_UPDATE_KEY, removeNotReadyKey } from "../pods/readiness.ts";
import type { PodPatchAction, Waiting } from "../writes/actions.ts";
import { patchPod, writePod } from "../writes/pod_actions.ts";
import {
  afterChange,
  type ConditionChange,
  type PodChange,
  podPatch,
  podWrite,
} from "../writes/pod_patch.ts";
import {
  type Hook,
  isAllHooked,
  isHooked,
  type LifecycleState,
  lifecycleState,
  stateMetadata,
} from "./lifecycle.ts";
import { waitingForHook } from "./waiting.ts";

/** Hands the pod to those who hook its deletion. */
export function preparingDelete(pod: Pod, hook: Hook | undefined, now: number): PodChange {
  const conditions = hook?.markPodNotReady ? addNotReadyKey(pod, PRE_DELETE_KEY) : [];
  return { ...stateMetadata("PreparingDelete", now), conditions };
}

/** The pod is wanted again, and ready again: the hook may have marked it while it still said so. */
export function backFromDeletion(pod: Pod, now: number): PodChange {
  return { ...stateMetadata("PreparingNormal", now), conditions: removeNotReadyKey(pod, PRE_DELETE_KEY) };
}

/** What is to be done or waited for before a pod is updated in place; undefined: nothing. */
export function beforeUpdate(
  { pod, state }: { readonly pod: Pod; readonly state: LifecycleState },
  hook: Hook | undefined,
  now: number,
): { action: PodPatchAction } | { waiting: Waiting } | undefined {
  if (hook === undefined) return undefined;
  if (state === "PreparingUpdate" && isHooked(pod, hook))
    return { waiting: waitingForHook(pod, "inPlaceUpdate", hook, "off") };
  // A pod whose last update somebody still holds gets the hook's marks back.
  if (state === "Updated") return { action: preparingUpdate(pod, hook, true, now) };
  const isFresh = state === "" || state === "Normal" || state === "PreparingNormal";
  return isFresh && isHooked(pod, hook) ? { action: preparingUpdate(pod, hook, false, now) } : undefined;
}

function preparingUpdate(pod: Pod, hook: Hook, withMarks: boolean, now: number): PodPatchAction {
  const { labels, annotations } = stateMetadata("PreparingUpdate", now);
  const marks: PodChange = {
    labels: { ...(withMarks ? hook.labelsHandler : {}), ...labels },
    annotations,
    addFinalizers: withMarks ? (hook.finalizersHandler ?? []) : [],
  };
  const conditions = hook.markPodNotReady ? addNotReadyKey(pod, PRE_UPDATE_KEY) : [];
  // In one request: a mark without its state would outlast an update that is given up in between.
  if (conditions.length === 0 || marks.addFinalizers?.length === 0)
    return patchPod(pod, { ...marks, conditions }, now, "update");
  // Finalizers do not go through the status subresource: not ready first, then the marks.
  const { resourceVersion } = pod;
  const off = podWrite(pod, { conditions }, now, { subresource: "status", resourceVersion });
  const steps = [...off.steps, podPatch(pod, marks, now)];
  return writePod(pod, { steps, after: afterChange(off.after, marks, now) }, "update");
}

/** The update is complete. Without a hook the state `Updated` would last no longer than the next request. */
export function afterUpdate(pod: Pod, hook: Hook | undefined, now: number): PodChange {
  const state = hook === undefined || isAllHooked(pod, hook) ? "Normal" : "Updated";
  return { ...stateMetadata(state, now), conditions: removeNotReadyKey(pod, PRE_UPDATE_KEY) };
}

/** The state `Updated` ends once every handler of the hook is back; until then the pod serves, whatever was begun with it and given up. */
export function leaveUpdated(
  pod: Pod,
  hook: Hook | undefined,
  now: number,
  decisions: Decisions,
): PodChange | undefined {
  const conditions = removeNotReadyKey(pod, PRE_UPDATE_KEY);
  if (hook === undefined || isAllHooked(pod, hook)) return { ...stateMetadata("Normal", now), conditions };
  decisions.wait(waitingForHook(pod, "inPlaceUpdate", hook, "on"));
  return conditions.length > 0 ? { conditions } : undefined;
}

/** The mark of an update that was given up before its state was written, here or by whoever had the pod before: nobody else takes it back. */
export function withoutStaleMark(pod: Pod): readonly ConditionChange[] {
  const state = lifecycleState(pod);
  return state === "" || state === "Normal" ? removeNotReadyKey(pod, PRE_UPDATE_KEY) : [];
}
