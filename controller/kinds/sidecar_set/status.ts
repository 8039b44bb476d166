/** Status of a SidecarSet. Spec: sidecarset 3. */
import type { SidecarSetStatus } from "../../../crds/index.ts";
import type { SidecarSetState } from "./state.ts";

export function statusOf({ observed, pods, update, collisionCount }: SidecarSetState): SidecarSetStatus {
  const updatedReadyPods = pods.count("updatedReadyPods");
  return {
    observedGeneration: observed.set.metadata.generation ?? 0,
    matchedPods: pods.count("matchedPods"),
    updatedPods: pods.count("updatedPods"),
    readyPods: pods.count("readyPods"),
    ...(updatedReadyPods > 0 ? { updatedReadyPods } : {}),
    latestRevision: update.name,
    collisionCount,
  };
}
