/** How both shells of probe markers find pods, nodes and each other's objects, and write to pods. */
import type { NodePodProbe, PodProbeMarker } from "../../../crds/index.ts";
import { isKubeError, type Writer } from "../../../kube/index.ts";
import { type ObservedPod, observedPodResource } from "../../native/observed_pod.ts";
import type { HeldPods, PodSelection } from "../../runtime/selected_pods.ts";
import { marksPatch, type PodMarks } from "./marks.ts";
import { markerKeysOf } from "./model.ts";

/** `namespace/name` of the markers that a NodePodProbe has probes of. */
export function markerIndex(object: NodePodProbe): string[] {
  return [...new Set((object.spec?.podProbes ?? []).flatMap(markerKeysOf))];
}

export function nodeIndex(pod: ObservedPod): string[] {
  return pod.nodeName === "" ? [] : [pod.nodeName];
}

export function markerSelection({ metadata, spec }: PodProbeMarker): PodSelection {
  return { namespace: metadata.namespace ?? "", labels: spec.selector };
}

/** One request for everything that a result changes on a pod. A pod that is gone needs nothing any more. */
export async function writeMarks(
  { writer, signal }: { readonly writer: Writer; readonly signal: AbortSignal },
  marks: PodMarks,
  held: readonly HeldPods<ObservedPod>[],
): Promise<void> {
  const { namespace, name, uid } = marks.pod;
  try {
    const pod = await writer.patch(
      observedPodResource,
      { namespace, name },
      { type: "strategic", body: marksPatch(marks) },
      { subresource: "status", priority: "high", flow: uid, signal },
    );
    for (const pods of held) pods.writeBack(pod);
  } catch (error) {
    // It is gone. Another pod of that name is a conflict, and the next pass sees that one.
    if (!isKubeError(error, "NotFound")) throw error;
  }
}
