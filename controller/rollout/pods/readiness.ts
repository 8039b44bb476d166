/** Conditions that hold a pod's readiness. Spec: inplace-update 4.2 rule 7, 4.9. */
import type { Pod } from "../../../kube/index.ts";
import { type CompletionOptions, isCompleted } from "../in_place/completion.ts";
import { LEAN_UPDATE_ANNOTATION } from "../in_place/lean.ts";
import { inPlaceState } from "../in_place/state.ts";
import type { ConditionChange } from "../writes/pod_patch.ts";
import { conditionOf, hasGate, IN_PLACE_READY, KRUISE_READY } from "./pod_state.ts";
import { byText } from "./sorted_slots.ts";

/** `InPlaceUpdateReady` to False and, since a kubelet would follow a moment later anyway, `Ready` with it. */
export function gateOff(pod: Pod): ConditionChange[] {
  return withReady(pod, { type: IN_PLACE_READY, status: "False", reason: "StartInPlaceUpdate" });
}

/** Only the kubelet sets `Ready` back to True (rule 10). */
export function gateOn(): ConditionChange {
  return { type: IN_PLACE_READY, status: "True" };
}

/** Whether the gate is declared and its condition is not a plain True yet. */
export function needsGateOn(pod: Pod): boolean {
  if (!hasGate(pod, IN_PLACE_READY)) return false;
  const condition = conditionOf(pod, IN_PLACE_READY);
  return condition?.status !== "True" || condition.reason !== "";
}

/**
 * Whether no update in place is under way. An open gate tells that the last one was complete: what the node has not seen of the spec
 * since then is somebody else's change, and the pod serves. Lean updates and those of resources alone leave the gate open.
 */
export function isUpdateComplete(pod: Pod, options: CompletionOptions): boolean {
  const isGateOpen = hasGate(pod, IN_PLACE_READY) && !needsGateOn(pod);
  if (isGateOpen && !(LEAN_UPDATE_ANNOTATION in pod.annotations)) {
    const { value } = inPlaceState(pod);
    if (value === undefined || value.updateResources !== true) return true;
  }
  return isCompleted(pod, options);
}

/** `KruisePodReady` is given True once, when the gate is declared and nobody wrote the condition (rule 31). */
export function needsKruiseReady(pod: Pod): boolean {
  return hasGate(pod, KRUISE_READY) && conditionOf(pod, KRUISE_READY) === undefined;
}

interface NotReadyKey {
  userAgent: string;
  key: string;
}

export const PRE_DELETE_KEY: NotReadyKey = { userAgent: "Lifecycle", key: "preDeleteHook" };
export const PRE_UPDATE_KEY: NotReadyKey = { userAgent: "Lifecycle", key: "preUpdateHook" };

function keysOf(pod: Pod): NotReadyKey[] {
  const message = conditionOf(pod, KRUISE_READY)?.message;
  if (!message) return [];
  try {
    const keys: unknown = JSON.parse(message);
    if (!Array.isArray(keys)) return [];
    return keys.filter(
      (key): key is NotReadyKey =>
        typeof key === "object" &&
        key !== null &&
        typeof key.userAgent === "string" &&
        typeof key.key === "string",
    );
  } catch {
    return [];
  }
}

function keysMessage(keys: readonly NotReadyKey[]): string {
  const sorted = [...keys].sort((a, b) => byText(a.userAgent, b.userAgent) || byText(a.key, b.key));
  return JSON.stringify(sorted.map(({ userAgent, key }) => ({ userAgent, key })));
}

/** Conditions that add a key to `KruisePodReady`; empty without the gate or when the key is there. Rule 32. */
export function addNotReadyKey(pod: Pod, key: NotReadyKey): ConditionChange[] {
  if (!hasGate(pod, KRUISE_READY)) return [];
  const keys = keysOf(pod);
  if (keys.some((known) => known.userAgent === key.userAgent && known.key === key.key)) return [];
  return withReady(pod, { type: KRUISE_READY, status: "False", message: keysMessage([...keys, key]) });
}

/** Conditions that remove a key; True again with the last one. */
export function removeNotReadyKey(pod: Pod, key: NotReadyKey): ConditionChange[] {
  if (!hasGate(pod, KRUISE_READY)) return [];
  const keys = keysOf(pod);
  const rest = keys.filter((known) => known.userAgent !== key.userAgent || known.key !== key.key);
  if (rest.length === keys.length) return [];
  return [{ type: KRUISE_READY, status: rest.length === 0 ? "True" : "False", message: keysMessage(rest) }];
}

function withReady(pod: Pod, change: ConditionChange): ConditionChange[] {
  if (conditionOf(pod, "ContainersReady")?.status !== "True") return [change];
  return [
    change,
    { type: "Ready", status: "False", reason: "ReadinessGatesNotReady", message: gatesMessage(pod, change) },
  ];
}

/** The kubelet's own words for gates that are not met, in the order of the pod's spec. */
function gatesMessage(pod: Pod, change: ConditionChange): string {
  const unmet: string[] = [];
  for (const gate of pod.readinessGates) {
    const status = gate === change.type ? change.status : conditionOf(pod, gate)?.status;
    if (status === "True") continue;
    unmet.push(
      status === undefined
        ? `corresponding condition of pod readiness gate "${gate}" does not exist.`
        : `the status of pod readiness gate "${gate}" is not "True", but ${status}`,
    );
  }
  return unmet.join(", ");
}
