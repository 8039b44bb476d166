/** Workloads with a pod on each node. */
import { runPhase } from "../measure/phase.ts";
import { hasSucceeded } from "../measure/pod_state.ts";
import type { Scenario } from "../scenario.ts";
import { createPhase, NAME, updatePhase } from "./one_workload.ts";

export const daemonset: Scenario = {
  name: "daemonset",
  summary: "an Advanced DaemonSet on --pods nodes is created and updated in place",
  kinds: ["DaemonSet"],
  perNode: true,
  usualPods: 100,
  async run(stage) {
    const replicas = stage.settings.pods;
    const created = await createPhase(stage, "DaemonSet");
    return {
      phases: [created, await updatePhase(stage, "DaemonSet", { name: "rollout in place", replicas })],
      limit: await stage.measureLimit(),
    };
  },
};

export const broadcastjob: Scenario = {
  name: "broadcastjob",
  summary: "a BroadcastJob runs a pod to its end on each of --pods nodes",
  kinds: ["BroadcastJob"],
  perNode: true,
  usualPods: 100,
  async run(stage) {
    const { pods } = stage.settings;
    const done = await runPhase(stage, {
      name: "run to the end",
      pods,
      begin: () =>
        stage.workloads.create({ kind: "BroadcastJob", name: NAME, replicas: pods, maxUnavailable: 1 }),
      arrived: hasSucceeded,
      touched: () => true,
      budget: { replicas: pods, maxPods: pods },
    });
    return { phases: [done], limit: await stage.measureLimit() };
  },
};
