/** The registry of all kinds. */
import { advancedCronJob } from "./advanced_cron_job/schema.ts";
import { broadcastJob } from "./broadcast_job/schema.ts";
import { cloneSet } from "./clone_set/schema.ts";
import { containerRecreateRequest } from "./container_recreate_request/schema.ts";
import { daemonSet } from "./daemon_set/schema.ts";
import { ephemeralJob } from "./ephemeral_job/schema.ts";
import { imageListPullJob } from "./image_list_pull_job/schema.ts";
import { imagePullJob } from "./image_pull_job/schema.ts";
import type { KindDefinition } from "./kind.ts";
import { nodeImage } from "./node_image/schema.ts";
import { nodePodProbe } from "./node_pod_probe/schema.ts";
import { persistentPodState } from "./persistent_pod_state/schema.ts";
import { podProbeMarker } from "./pod_probe_marker/schema.ts";
import { podUnavailableBudget } from "./pod_unavailable_budget/schema.ts";
import { resourceDistribution } from "./resource_distribution/schema.ts";
import { sidecarSet } from "./sidecar_set/schema.ts";
import { statefulSet } from "./stateful_set/schema.ts";
import { unitedDeployment } from "./united_deployment/schema.ts";
import { workloadSpread } from "./workload_spread/schema.ts";

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

/** Kinds on which a controller acts: what an installation serves. */
export const carriedOutKinds: readonly KindDefinition[] = kinds.filter((definition) => definition.carriedOut);
