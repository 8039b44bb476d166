/** Many small workloads at once. */
import { eachInFlight } from "../in_flight.ts";
import { runPhase } from "../measure/phase.ts";
import { isTouched, runs } from "../measure/pod_state.ts";
import { amountOf, type Scenario } from "../scenario.ts";
import { firstImage, secondImage } from "../workloads.ts";

const atOnce = 16;

export const many: Scenario = {
  name: "many",
  summary: "--pods in CloneSets of --size pods each, created and updated all at once",
  kinds: ["CloneSet"],
  usualPods: 10_000,
  async run(stage) {
    const { pods, size, maxUnavailable } = stage.settings;
    const replicas = Math.min(size, pods);
    const count = Math.max(1, Math.floor(pods / replicas));
    const names = Array.from({ length: count }, (_, index) => `bench-${index + 1}`);
    const budget = amountOf(maxUnavailable, replicas);
    const created = await runPhase(stage, {
      name: "create",
      pods: count * replicas,
      begin: () =>
        eachInFlight(names, atOnce, (name) =>
          stage.workloads.create({ kind: "CloneSet", name, replicas, maxUnavailable: budget }),
        ),
      arrived: (pod) => runs(pod, firstImage),
      touched: () => true,
      budget: { replicas, maxPods: replicas },
      facts: () => ({ workloads: count, "pods each": replicas }),
    });
    const updated = await runPhase(stage, {
      name: "rollout in place",
      pods: count * replicas,
      begin: () =>
        eachInFlight(names, atOnce, (name) => stage.workloads.update("CloneSet", name, secondImage)),
      arrived: (pod) => runs(pod, secondImage),
      remaining: count * replicas,
      touched: (pod) => isTouched(pod, secondImage),
      budget: { replicas, maxUnavailable: budget },
    });
    return { phases: [created, updated], limit: await stage.measureLimit() };
  },
};
