import { nodePodProbe, podProbeMarker } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const podProbeMarkerResource = resourceOf(podProbeMarker);
export const nodePodProbeResource = resourceOf(nodePodProbe);
