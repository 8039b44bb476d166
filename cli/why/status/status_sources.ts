/** The kinds that are explained by their status. */
import { kinds } from "../../../crds/index.ts";
import { isOfKind, type ResourceType } from "../../resource_types.ts";
import { plannerOf } from "../planners.ts";
import { conditionsStatus } from "./conditions.ts";
import { containerRecreateRequestStatus } from "./container_recreate_request.ts";
import { daemonSetStatuses } from "./daemon_set.ts";
import { ephemeralJobStatus } from "./ephemeral_job.ts";
import { imageListPullJobStatus } from "./image_list_pull_job.ts";
import { imagePullJobStatus } from "./image_pull_job.ts";
import { nodeImageStatus } from "./node_image.ts";
import { persistentPodStateStatus } from "./persistent_pod_state.ts";
import { podUnavailableBudgetStatus } from "./pod_unavailable_budget.ts";
import { nodePodProbeStatus, podProbeMarkerStatus } from "./probe_results.ts";
import type { StatusSource } from "./status_source.ts";

const statusSources: readonly StatusSource[] = [
  containerRecreateRequestStatus,
  ephemeralJobStatus,
  imagePullJobStatus,
  imageListPullJobStatus,
  nodeImageStatus,
  podProbeMarkerStatus,
  nodePodProbeStatus,
  podUnavailableBudgetStatus,
  persistentPodStateStatus,
  ...daemonSetStatuses,
];

/** Undefined for a kind whose plans are made here, and for one that nothing is known of. */
export function statusSourceOf(type: Pick<ResourceType, "group" | "kind">): StatusSource | undefined {
  const own = statusSources.find(isOfKind(type));
  if (own !== undefined || plannerOf(type) !== undefined || !kinds.some(isOfKind(type))) return own;
  return conditionsStatus(type);
}
