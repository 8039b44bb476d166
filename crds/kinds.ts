/** The registry of all kinds. Each is installed, and a controller acts on it. */
import { advancedCronJob } from "./advanced_cron_job/index.ts";
import { broadcastJob } from "./broadcast_job/index.ts";
import { cloneSet } from "./clone_set/index.ts";
import { containerRecreateRequest } from "./container_recreate_request/index.ts";
import { daemonSet } from "./daemon_set/index.ts";
import { ephemeralJob } from "./ephemeral_job/index.ts";
import { imageListPullJob } from "./image_list_pull_job/index.ts";
import { imagePullJob } from "./image_pull_job/index.ts";
import type { KindDefinition } from "./kind.ts";
import { nodeImage } from "./node_image/index.ts";
import { nodePodProbe } from "./node_pod_probe/index.ts";
import { persistentPodState } from "./persistent_pod_state/index.ts";
import { podProbeMarker } from "./pod_probe_marker/index.ts";
import { podUnavailableBudget } from "./pod_unavailable_budget/index.ts";
import { resourceDistribution } from "./resource_distribution/index.ts";
import { sidecarSet } from "./sidecar_set/index.ts";
import { statefulSet } from "./stateful_set/index.ts";
import { unitedDeployment } from "./united_deployment/index.ts";
import { workloadSpread } from "./workload_spread/index.ts";

export const kinds: readonly KindDefinition[] = [
  cloneSet,
  statefulSet,
  daemonSet,
  broadcastJob,
  advancedCronJob,
  sidecarSet,
  unitedDeployment,
  workloadSpread,
  podUnavailableBudget,
  persistentPodState,
  containerRecreateRequest,
  imagePullJob,
  imageListPullJob,
  nodeImage,
  resourceDistribution,
  ephemeralJob,
  podProbeMarker,
  nodePodProbe,
];
