/** The kinds whose plans can be made here. */
import type { ResourceType } from "../resource_types.ts";
import { advancedCronJobPlanner } from "./advanced_cron_job.ts";
import { broadcastJobPlanner } from "./broadcast_job.ts";
import { cloneSetPlanner } from "./clone_set.ts";
import { daemonSetPlanner } from "./daemon_set.ts";
import type { Planner } from "./forecast.ts";
import { resourceDistributionPlanner } from "./resource_distribution.ts";
import { sidecarSetPlanner } from "./sidecar_set.ts";
import { statefulSetPlanner } from "./stateful_set.ts";
import { unitedDeploymentPlanner } from "./united_deployment.ts";
import { workloadSpreadPlanner } from "./workload_spread.ts";

export const planners: readonly Planner[] = [
  cloneSetPlanner,
  statefulSetPlanner,
  daemonSetPlanner,
  broadcastJobPlanner,
  advancedCronJobPlanner,
  resourceDistributionPlanner,
  sidecarSetPlanner,
  unitedDeploymentPlanner,
  workloadSpreadPlanner,
];

export function plannerOf({ group, kind }: Pick<ResourceType, "group" | "kind">): Planner | undefined {
  return group === "apps.kruise.io" ? planners.find((planner) => planner.kind === kind) : undefined;
}
