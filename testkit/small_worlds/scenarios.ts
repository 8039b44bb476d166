/** All small worlds. */
import { broadcastJobScenarios, broadcastJobWorld } from "./broadcast_jobs.ts";
import { budgetWorld } from "./budget_world.ts";
import { cloneSetScenarios } from "./clone_sets.ts";
import { recreateScenarios } from "./container_recreate_requests.ts";
import { cronScenarios, cronWorld } from "./cron_jobs.ts";
import { daemonSetScenarios } from "./daemon_sets.ts";
import { distributionWorld } from "./distribution_world.ts";
import { ephemeralScenarios } from "./ephemeral_jobs.ts";
import { ephemeralWorld } from "./ephemeral_world.ts";
import type { SmallWorld } from "./explore.ts";
import { imageListPullScenarios, imageListPullWorld } from "./image_list_pull_jobs.ts";
import { imagePullScenarios } from "./image_pull_jobs.ts";
import { launchScenarios } from "./launch_priorities.ts";
import { launchWorld } from "./launch_world.ts";
import { persistentPodStateScenarios } from "./persistent_pod_states.ts";
import type { Workload } from "./plan_world.ts";
import { budgetScenarios } from "./pod_unavailable_budgets.ts";
import { pullWorld } from "./pull_world.ts";
import { recordsWorld } from "./records_world.ts";
import { recreateWorld } from "./recreate_world.ts";
import { distributionScenarios } from "./resource_distributions.ts";
import { rolloutWorld, type Scenario } from "./rollout_world.ts";
import { sidecarSetScenarios } from "./sidecar_sets.ts";
import { terminatorScenarios } from "./sidecar_terminators.ts";
import { spreadWorld } from "./spread_world.ts";
import { statefulSetScenarios } from "./stateful_sets.ts";
import { terminatorWorld } from "./terminator_world.ts";
import { unitedScenarios } from "./united_deployments.ts";
import { unitedWorld } from "./united_world.ts";
import { spreadScenarios } from "./workload_spreads.ts";

export interface NamedWorld {
  readonly name: string;
  readonly world: SmallWorld<unknown>;
}

/** `pods`: of each workload; `mishaps`: how many may happen on one way. */
export function* smallWorlds(pods: number, mishaps: number): Generator<NamedWorld> {
  const named = <T extends Workload>(scenario: Scenario<T>): NamedWorld => ({
    name: scenario.name,
    world: rolloutWorld(scenario, mishaps),
  });
  for (const scenario of cloneSetScenarios(pods, mishaps)) yield named(scenario);
  for (const scenario of statefulSetScenarios(pods, mishaps)) yield named(scenario);
  for (const scenario of daemonSetScenarios(pods, mishaps)) yield named(scenario);
  for (const scenario of sidecarSetScenarios(pods, mishaps)) yield named(scenario);
  for (const scenario of broadcastJobScenarios(pods, mishaps))
    yield { name: scenario.name, world: broadcastJobWorld(scenario, mishaps) };
  for (const scenario of imagePullScenarios(pods, mishaps))
    yield { name: scenario.name, world: pullWorld(scenario, mishaps) };
  for (const scenario of imageListPullScenarios(pods))
    yield { name: scenario.name, world: imageListPullWorld(scenario, mishaps) };
  for (const scenario of unitedScenarios(pods, mishaps))
    yield { name: scenario.name, world: unitedWorld(scenario, mishaps) };
  for (const scenario of cronScenarios(pods))
    yield { name: scenario.name, world: cronWorld(scenario, mishaps) };
  for (const scenario of budgetScenarios(pods))
    yield { name: scenario.name, world: budgetWorld(scenario, mishaps) };
  for (const scenario of spreadScenarios(pods, mishaps))
    yield { name: scenario.name, world: spreadWorld(scenario, mishaps) };
  for (const scenario of ephemeralScenarios(pods))
    yield { name: scenario.name, world: ephemeralWorld(scenario, mishaps) };
  for (const scenario of distributionScenarios(pods))
    yield { name: scenario.name, world: distributionWorld(scenario, mishaps) };
  for (const scenario of recreateScenarios(pods))
    yield { name: scenario.name, world: recreateWorld(scenario, mishaps) };
  for (const scenario of terminatorScenarios(pods))
    yield { name: scenario.name, world: terminatorWorld(scenario, mishaps) };
  for (const scenario of launchScenarios(pods))
    yield { name: scenario.name, world: launchWorld(scenario, mishaps) };
  for (const scenario of persistentPodStateScenarios(pods))
    yield { name: scenario.name, world: recordsWorld(scenario, mishaps) };
}
