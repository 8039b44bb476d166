/** Every scenario, in the order of the usage. */
import { BenchError } from "../errors.ts";
import type { Scenario } from "../scenario.ts";
import { admission } from "./admission.ts";
import { cronjob } from "./cron_jobs.ts";
import { hold } from "./hold.ts";
import { limit } from "./limit.ts";
import { many } from "./many_workloads.ts";
import { newpods } from "./new_pods.ts";
import { broadcastjob, daemonset } from "./per_node.ts";
import { replicas } from "./replicas.ts";
import { resourcedistribution } from "./resource_distribution.ts";
import { restart } from "./restart.ts";
import { create, nodeloss, one, partition, recreate, rollout, scale, statefulset } from "./rollouts.ts";
import { sidecarset } from "./sidecar_set.ts";
import { soak } from "./soak.ts";
import { status } from "./status.ts";
import { uniteddeployment } from "./united_deployment.ts";
import { webhook } from "./webhook.ts";
import { workloadspread } from "./workload_spread.ts";

export const scenarios: readonly Scenario[] = [
  create,
  scale,
  rollout,
  recreate,
  partition,
  many,
  replicas,
  one,
  nodeloss,
  restart,
  admission,
  webhook,
  newpods,
  hold,
  statefulset,
  daemonset,
  broadcastjob,
  cronjob,
  sidecarset,
  status,
  uniteddeployment,
  workloadspread,
  resourcedistribution,
  soak,
  limit,
];

export function scenarioNamed(name: string): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (found === undefined)
    throw new BenchError(
      `there is no scenario ${JSON.stringify(name)}; there are ${scenarios.map((each) => each.name).join(", ")}`,
    );
  return found;
}
