/** The kinds that are explained by their status. */
import type { ResourceType } from "../../resource_types.ts";
import { containerRecreateRequestStatus } from "./container_recreate_request.ts";
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
];

export function statusSourceOf({
  group,
  kind,
}: Pick<ResourceType, "group" | "kind">): StatusSource | undefined {
  return statusSources.find((source) => source.group === group && source.kind === kind);
}
