/** How soon the status of a small workload tells what its pods show, and what that costs. */
import { Cache, jsonResource, type KubeObject, nullLog, startInformer } from "../../kube/index.ts";
import { runPhase } from "../measure/phase.ts";
import { imageOf, isReady, isTerminating, runs } from "../measure/pod_state.ts";
import type { Phase } from "../measure/result.ts";
import { type Counts, StatusLag } from "../measure/status_lag.ts";
import type { Scenario, Stage } from "../scenario.ts";
import { firstImage, secondImage, workloadResources } from "../workloads.ts";
import { budgetOf, NAME } from "./one_workload.ts";

const KIND = "CloneSet";

interface Counted extends KubeObject {
  status?: { replicas?: number; readyReplicas?: number; updatedReplicas?: number };
}

const resource = jsonResource<Counted>(workloadResources[KIND]);

function countsOf({
  replicas = 0,
  readyReplicas = 0,
  updatedReplicas = 0,
}: Counted["status"] & object): Counts {
  return [replicas, readyReplicas, updatedReplicas];
}

function shownBy({ board }: Stage, image: string): Counts {
  const pods = [...board.pods()].filter((pod) => !isTerminating(pod));
  return [pods.length, pods.filter(isReady).length, pods.filter((pod) => imageOf(pod) === image).length];
}

export const status: Scenario = {
  name: "status",
  summary: "how soon the status of a CloneSet tells what its pods show: created, updated in place, scaled in",
  kinds: [KIND],
  usualPods: 100,
  async run(stage) {
    const { client, clock, random, board, settings, workloads } = stage;
    let image = firstImage;
    const lag = new StatusLag(() => clock.monotonic());
    const cache = new Cache<Counted>({ identify: resource.codec.identify });
    cache.subscribe(({ object }) => {
      if (object.status !== undefined) lag.statusIs(countsOf(object.status));
    });
    const follow = board.subscribe(() => lag.podsAre(shownBy(stage, image)));
    const workload = startInformer({
      client,
      resource,
      cache,
      namespace: stage.namespace,
      clock,
      random,
      log: nullLog,
    });
    const phase = (name: string, pods: number, rest: Partial<Parameters<typeof runPhase>[1]>) =>
      runPhase(stage, {
        name,
        pods,
        begin: async () => undefined,
        touched: () => true,
        isSettled: () => lag.isAllReported,
        facts: () => lag.facts(),
        ...rest,
      });
    try {
      await workload.synced;
      const { pods } = settings;
      const options = { kind: KIND, name: NAME, replicas: pods, maxUnavailable: budgetOf(stage) } as const;
      const phases: Phase[] = [
        await phase("create", pods, {
          begin: () => workloads.create(options),
          arrived: (pod) => runs(pod, firstImage),
        }),
        await phase("rollout in place", pods, {
          begin: () => {
            image = secondImage;
            return workloads.update(KIND, NAME, secondImage);
          },
          arrived: (pod) => runs(pod, secondImage),
        }),
        await phase("scale to zero", pods, {
          begin: () => workloads.scale(KIND, NAME, 0),
          remaining: 0,
        }),
      ];
      return { phases };
    } finally {
      follow();
      await workload.stop();
    }
  },
};
