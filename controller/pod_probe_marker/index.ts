/** PodProbeMarker and NodePodProbe: probes of the user's own, and what their results mark on pods. */
export { validatePodProbeMarkerRequest } from "./admit.ts";
export { isVirtualNode } from "./model.ts";
export { nodePodProbeShell } from "./node_reconcile.ts";
export { podProbeMarkerShell } from "./reconcile.ts";
