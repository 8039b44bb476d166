/** What an update still under way had not written yet, when a newer one takes its place. Spec: inplace-update 4.3, 4.6. */
import type { Pod } from "../../../kube/index.ts";
import type { InPlaceChange } from "./change.ts";
import { graceState, inPlaceState } from "./state.ts";
import { decodeMetadataPatch } from "./update.ts";

/**
 * The change with what waits in the pod's grace period or for a later batch: the pod's revision label counts that as
 * done already, so the difference between revisions does not hold it. What the change says itself wins.
 */
export function withUnissued(pod: Pod, change: InPlaceChange): InPlaceChange {
  const grace = graceState(pod).value;
  const state = inPlaceState(pod).value;
  if (grace === undefined && state === undefined) return change;
  const metadata = decodeMetadataPatch(grace?.metaDataPatch);
  const labels = { ...metadata.labels, ...change.metadataPatch?.labels };
  const annotations = { ...metadata.annotations, ...change.metadataPatch?.annotations };
  const patch = {
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
  };
  return {
    images: { ...state?.nextContainerImages, ...grace?.containerImages, ...change.images },
    resources: { ...state?.nextContainerResources, ...grace?.containerResources, ...change.resources },
    refMetadata: {
      ...state?.nextContainerRefMetadata,
      ...grace?.containerRefMetadata,
      ...change.refMetadata,
    },
    metadataPatch: Object.keys(patch).length > 0 ? patch : undefined,
  };
}
