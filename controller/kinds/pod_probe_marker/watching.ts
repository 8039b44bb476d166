/** How both reconcilers of probe markers find pods, nodes and each other's objects. */
import type { NodePodProbe, PodProbeMarker } from "../../../crds/index.ts";
import type { ObservedPod } from "../../native/observed_pod.ts";
import type { ObjectSelection } from "../../runtime/selected_objects.ts";
import { markerKeysOf } from "./model.ts";

/** `namespace/name` of the markers that a NodePodProbe has probes of. */
export function markerIndex(object: NodePodProbe): string[] {
  return [...new Set((object.spec?.podProbes ?? []).flatMap(markerKeysOf))];
}

export function nodeIndex(pod: ObservedPod): string[] {
  return pod.nodeName === "" ? [] : [pod.nodeName];
}

export function markerSelection({ metadata, spec }: PodProbeMarker): ObjectSelection {
  return { namespace: metadata.namespace ?? "", labels: spec.selector };
}
