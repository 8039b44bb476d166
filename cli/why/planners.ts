/** The kinds whose plans can be made here. */
import { parseFeatureGates } from "../../controller/index.ts";
import type { ClusterAccess, Host } from "../command.ts";
import type { ResourceType } from "../resource_types.ts";
import { readTarget, type Target } from "../target.ts";
import { advancedCronJobPlanner } from "./advanced_cron_job.ts";
import { broadcastJobPlanner } from "./broadcast_job.ts";
import { cloneSetPlanner } from "./clone_set.ts";
import { daemonSetPlanner } from "./daemon_set.ts";
import { describeWaiting } from "./describe.ts";
import type { Planner } from "./forecast.ts";
import { resourceDistributionPlanner } from "./resource_distribution.ts";
import { sidecarSetPlanner } from "./sidecar_set.ts";
import { statefulSetPlanner } from "./stateful_set.ts";

export const planners: readonly Planner[] = [
  cloneSetPlanner,
  statefulSetPlanner,
  daemonSetPlanner,
  broadcastJobPlanner,
  advancedCronJobPlanner,
  resourceDistributionPlanner,
  sidecarSetPlanner,
];

export function plannerOf({ group, kind }: Pick<ResourceType, "group" | "kind">): Planner | undefined {
  return group === "apps.kruise.io" ? planners.find((planner) => planner.kind === kind) : undefined;
}

/** Why a workload's rollout does not go on, in sentences; kinds without a planner give none. */
export async function reasonsOf(
  access: ClusterAccess,
  target: Target,
  host: Pick<Host, "clock" | "random">,
): Promise<string[]> {
  const planner = plannerOf(target.type);
  if (planner === undefined) return [];
  const stored = await readTarget(access, target);
  const { waiting } = await planner.forecast({
    access,
    subject: { stored },
    gates: parseFeatureGates(),
    host,
  });
  return waiting.map(describeWaiting);
}
