/** From probe results to conditions, labels and annotations of the pod. Pure. Spec: containers 4.4, rules 9, 10, 12. */
import { findCondition, type Labels, own } from "../../../kube/core/index.ts";
import type { ObservedPod } from "../../native/observed_pod.ts";
import type { WriteEffect } from "../../plan/effects.ts";
import { type Marker, type MarkerPolicy, type MarkerProbe, nodeProbeName } from "./model.ts";

/** One entry of `status.podProbeStatuses[].probeStates`. */
export interface ProbeResult {
  readonly name: string;
  /** `Succeeded` | `Failed` | `Unknown` */
  readonly state: string;
  readonly message?: string;
  readonly lastProbeTime?: string;
  readonly lastTransitionTime?: string;
}

/** Key -> value, or null to remove it. */
type MapChange = Readonly<Record<string, string | null>>;

interface MarkedCondition {
  readonly type: string;
  readonly status: "True" | "False";
  /** Null removes what an earlier result said. */
  readonly message: string | null;
  readonly lastProbeTime: string | null;
  readonly lastTransitionTime: string | null;
}

export interface PodMarks {
  readonly pod: ObservedPod;
  readonly labels: MapChange;
  readonly annotations: MapChange;
  readonly conditions: readonly MarkedCondition[];
}

/** What is to change on the pod; undefined when it shows all results already. `markers` in the order of their claims. */
export function marksOf(
  pod: ObservedPod,
  markers: readonly Marker[],
  results: ReadonlyMap<string, ProbeResult>,
): PodMarks | undefined {
  const conditions: MarkedCondition[] = [];
  const claimed = new Set<string>();
  const labels = new Marking(pod.labels);
  const annotations = new Marking(pod.annotations);
  for (const { probe, result } of resultsInOrder(markers, results)) {
    const type = probe.podConditionType ?? "";
    if (type !== "" && !claimed.has(type)) {
      claimed.add(type);
      const changed = result && conditionFor(pod, type, result);
      if (changed) conditions.push(changed);
    }
    if (result === undefined) continue;
    const { set, removed } = policiesFor(probe.markerPolicy ?? [], result.state);
    labels.take(
      removed.map((policy) => policy.labels),
      set?.labels,
    );
    annotations.take(
      removed.map((policy) => policy.annotations),
      set?.annotations,
    );
  }
  return marksUnlessNone({
    pod,
    labels: labels.change(),
    annotations: annotations.change(),
    conditions,
  });
}

function* resultsInOrder(
  markers: readonly Marker[],
  results: ReadonlyMap<string, ProbeResult>,
): Iterable<{ probe: MarkerProbe; result: ProbeResult | undefined }> {
  for (const marker of markers) {
    for (const probe of marker.probes) yield { probe, result: results.get(nodeProbeName(marker, probe)) };
  }
}

/** The condition if its status or message differs from what the pod has. */
function conditionFor(pod: ObservedPod, type: string, result: ProbeResult): MarkedCondition | undefined {
  const status = result.state === "Succeeded" ? "True" : "False";
  const message = result.message ?? "";
  const present = findCondition(pod.conditions, type);
  if (present?.status === status && present.message === message) return undefined;
  const kept = present?.status === status ? present.lastTransitionTime : "";
  return {
    type,
    status,
    message: message === "" ? null : message,
    lastProbeTime: result.lastProbeTime ?? null,
    lastTransitionTime: kept || result.lastTransitionTime || result.lastProbeTime || null,
  };
}

/** An unknown result takes back what the last policy set. */
function policiesFor(
  policies: readonly MarkerPolicy[],
  state: string,
): { set: MarkerPolicy | undefined; removed: readonly MarkerPolicy[] } {
  if (state === "Unknown") return { set: undefined, removed: policies.slice(-1) };
  const set = policies.find((policy) => policy.state === state);
  return { set, removed: policies.filter((policy) => policy !== set) };
}

/** Changes of one map of the pod. What any result sets is not removed by another. */
class Marking {
  readonly #present: Labels;
  readonly #set = new Map<string, string>();
  readonly #removed = new Set<string>();

  constructor(present: Labels) {
    this.#present = present;
  }

  take(removed: readonly (Labels | undefined)[], set: Labels | undefined): void {
    for (const map of removed) for (const key of Object.keys(map ?? {})) this.#removed.add(key);
    for (const [key, value] of Object.entries(set ?? {})) this.#set.set(key, value);
  }

  change(): MapChange {
    const change: Record<string, string | null> = {};
    for (const key of this.#removed) {
      if (!this.#set.has(key) && Object.hasOwn(this.#present, key)) change[key] = null;
    }
    for (const [key, value] of this.#set) if (own(this.#present, key) !== value) change[key] = value;
    return change;
  }
}

/**
 * Pods of virtual nodes: whoever runs them has written the conditions; labels and annotations follow these, and are
 * never removed (rule 12).
 */
export function marksOfConditions(pod: ObservedPod, markers: readonly Marker[]): PodMarks | undefined {
  const labels = new Marking(pod.labels);
  const annotations = new Marking(pod.annotations);
  for (const probe of markers.flatMap((marker) => marker.probes)) {
    const status = findCondition(pod.conditions, probe.podConditionType ?? "")?.status;
    const state = status === "True" ? "Succeeded" : status === "False" ? "Failed" : "";
    const policy = probe.markerPolicy?.find((one) => one.state === state);
    labels.take([], policy?.labels);
    annotations.take([], policy?.annotations);
  }
  return marksUnlessNone({
    pod,
    labels: labels.change(),
    annotations: annotations.change(),
    conditions: [],
  });
}

function marksUnlessNone(marks: PodMarks): PodMarks | undefined {
  const { labels, annotations, conditions } = marks;
  const none = conditions.length + Object.keys(labels).length + Object.keys(annotations).length === 0;
  return none ? undefined : marks;
}

/** The marks of one pod in one request. A pod that is gone, or has another one in its place, needs nothing any more. */
export function marksEffect(marks: PodMarks): WriteEffect {
  const { namespace, name } = marks.pod;
  const patch = { type: "strategic", body: marksPatch(marks) } as const;
  const settings = { subresource: "status", priority: "high", whenRaced: "ignore" } as const;
  return { type: "patch", resource: "pods", namespace, name, patch, ...settings };
}

/** The strategic merge patch of `pods/status` that writes the marks; it takes labels and annotations, too. */
export function marksPatch({ pod, labels, annotations, conditions }: PodMarks): object {
  return {
    metadata: {
      uid: pod.uid,
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    },
    ...(conditions.length > 0 ? { status: { conditions } } : {}),
  };
}
