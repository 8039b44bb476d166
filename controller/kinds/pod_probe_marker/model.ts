/** What the plans of probe markers work on. */
import type { NodePodProbeSpec, PodProbeMarker, PodProbeMarkerSpec } from "../../../crds/index.ts";
import { isConditionTrue } from "../../../kube/core/index.ts";
import { isActivePod, type ObservedPod } from "../../native/observed_pod.ts";
import { byText } from "../../rollout/pods/sorted_slots.ts";

export type MarkerProbe = PodProbeMarkerSpec["probes"][number];
export type MarkerPolicy = NonNullable<MarkerProbe["markerPolicy"]>[number];
/** The probes of one pod in a NodePodProbe. */
export type PodProbes = NonNullable<NodePodProbeSpec["podProbes"]>[number];

export const CLEANUP_FINALIZER = "kruise.io/node-pod-probe-cleanup";

/** A marker that probes pods; those on their way out probe none. */
export interface Marker {
  readonly namespace: string;
  readonly name: string;
  readonly createdAt: string;
  readonly probes: readonly MarkerProbe[];
}

export function markerOf({ metadata, spec }: PodProbeMarker): Marker {
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    createdAt: metadata.creationTimestamp ?? "",
    probes: spec.probes ?? [],
  };
}

/** Markers in the order in which they claim conditions: who was first stays first. */
export function byClaim(a: Marker, b: Marker): number {
  return byText(a.createdAt, b.createdAt) || byText(a.name, b.name);
}

/** Name of a probe in a NodePodProbe. */
export function nodeProbeName(marker: { readonly name: string }, probe: { readonly name: string }): string {
  return `${marker.name}#${probe.name}`;
}

/** `namespace/name` of the markers that an entry of a NodePodProbe comes from. */
export function markerKeysOf(entry: PodProbes): string[] {
  const names = (entry.probes ?? []).map(({ name }) => name.split("#", 1)[0] ?? "");
  return [...new Set(names)].map((name) => `${entry.namespace}/${name}`);
}

/** Whether a pod can be probed: active, scheduled, its init containers done (spec containers 4.4, rule 2). */
export function isProbed(pod: ObservedPod): boolean {
  return isActivePod(pod) && pod.nodeName !== "" && isConditionTrue(pod.conditions, "Initialized");
}
