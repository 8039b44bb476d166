/** Which records a PersistentPodState holds now. Spec: persistentpodstate 4, Recording and Removal. */
import type { PersistentPodState, PersistentPodStateStatus } from "../../../crds/index.ts";
import type { Labels } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { ordinalIn } from "../../rollout/pods/numbered_names.ts";
import { Window } from "../../rollout/pods/ordinals.ts";
import { isActive, isReady } from "../../rollout/pods/pod_state.ts";
import type { PersistentPodStateObserved, Target } from "./observe.ts";

export type PodState = NonNullable<PersistentPodStateStatus["podStates"]>[string];

interface PersistentPodStatePlan {
  status: PersistentPodStateStatus;
  /** Nodes that were not known when a pod of theirs was to be recorded. */
  unknownNodes: readonly string[];
}

export function planPersistentPodState(observed: PersistentPodStateObserved): PersistentPodStatePlan {
  const { object, target } = observed;
  const observedGeneration = object.metadata.generation ?? 0;
  // Rule 10: without its workload nothing is remembered.
  if (target === undefined || target.terminating) return { status: { observedGeneration }, unknownNodes: [] };
  // Rule 11: of a workload without replicas no pod is looked at, whatever still runs.
  const active = target.replicas > 0 ? observed.pods.filter(isActive) : [];
  const states = new Map(Object.entries(object.status?.podStates ?? {}));
  const unknownNodes: string[] = [];
  const wanted = wantedOf(object);
  for (const pod of active) {
    if (!isReady(pod) || pod.nodeName === "") continue;
    const before = states.get(pod.name);
    if (before !== undefined && isCurrent(before, pod, wanted)) continue;
    const labels = observed.nodeLabels(pod.nodeName);
    if (labels === undefined) unknownNodes.push(pod.nodeName);
    else states.set(pod.name, recordOf(pod, labels, wanted));
  }
  if (object.spec.persistentPodStateRetentionPolicy !== "WhenDeleted") {
    const present = new Set(active.map((pod) => pod.name));
    for (const name of [...states.keys()]) {
      const ordinal = ordinalIn(name);
      if (ordinal !== undefined && !present.has(name) && !inWindow(ordinal, target)) states.delete(name);
    }
  }
  const status = {
    observedGeneration,
    ...(states.size === 0 ? {} : { podStates: Object.fromEntries(states) }),
  };
  return { status, unknownNodes };
}

/** Rule 7: among the first `replicas` ordinals from `start` that are not reserved. */
export function inWindow(
  ordinal: number,
  { replicas, start, reserved }: Omit<Target, "uid" | "terminating">,
): boolean {
  return new Window(start, replicas, reserved).has(ordinal);
}

/** What a record has to hold. */
interface Wanted {
  keys: readonly string[];
  annotations: readonly string[];
}

function wantedOf({ spec }: PersistentPodState): Wanted {
  const required = spec.requiredPersistentTopology?.keys ?? [];
  const preferred = (spec.preferredPersistentTopology ?? []).flatMap(
    ({ preference }) => preference.keys ?? [],
  );
  return {
    keys: [...new Set([...required, ...preferred])],
    annotations: (spec.persistentPodAnnotations ?? []).map(({ key }) => key),
  };
}

/** Rules 5 and 6: a record of the same node and the same keys stays, unless annotations are wanted, which may change. */
function isCurrent(record: PodState, pod: Pod, { keys, annotations }: Wanted): boolean {
  const recorded = Object.keys(record.nodeTopologyLabels ?? {});
  return (
    annotations.length === 0 &&
    record.nodeName === pod.nodeName &&
    recorded.length === keys.length &&
    keys.every((key) => recorded.includes(key))
  );
}

function recordOf(pod: Pod, labels: Labels, { keys, annotations }: Wanted): PodState {
  const topology = picked(labels, keys);
  const kept = picked(pod.annotations, annotations);
  return {
    nodeName: pod.nodeName,
    ...(topology === undefined ? {} : { nodeTopologyLabels: topology }),
    ...(kept === undefined ? {} : { annotations: kept }),
  };
}

/** The entries with these keys; undefined when there are none. */
function picked(map: Labels, keys: readonly string[]): Record<string, string> | undefined {
  const entries = keys.flatMap((key) => {
    const value: unknown = Object.hasOwn(map, key) ? map[key] : undefined;
    return typeof value === "string" ? [[key, value] as const] : [];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
