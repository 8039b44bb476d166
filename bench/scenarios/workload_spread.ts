/** Creations of a CloneSet's pods with a WorkloadSpread and without: what the places of its ledger cost. */
import { jsonResource, type KubeObject } from "../../kube/index.ts";
import { runPhase } from "../measure/phase.ts";
import { isReady, runs } from "../measure/pod_state.ts";
import type { Phase } from "../measure/result.ts";
import { BENCH_LABEL } from "../resources.ts";
import type { Scenario, Stage } from "../scenario.ts";
import { firstImage } from "../workloads.ts";
import { createPhase, NAME, scaleInPhase } from "./one_workload.ts";

const SUBSET = "bench-subset";

const workloadSpreads = jsonResource<KubeObject>({
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "workloadspreads",
  kind: "WorkloadSpread",
  namespaced: true,
});

export const workloadspread: Scenario = {
  name: "workloadspread",
  summary: "a CloneSet from no pods to all of them, without a WorkloadSpread and with one of three subsets",
  kinds: ["CloneSet"],
  usualPods: 5_000,
  async run(stage) {
    const { client, namespace } = stage;
    // What is measured is compared: neither half is to be the first that this manager does.
    const warmUp = await createPhase(stage, "CloneSet");
    await scaleInPhase(stage, "CloneSet", "scale to zero", 0);
    const without = await scaledOut(stage, "without a spread");
    await scaleInPhase(stage, "CloneSet", "scale to zero", 0);
    await client.create(workloadSpreads, namespace, spreadOf(stage));
    const spread = await scaledOut(stage, "with a spread");
    Object.assign(spread.facts, timesOf(spread, without));
    const left = await scaleInPhase(stage, "CloneSet", "scale in", subsetSize(stage));
    return { phases: [{ ...warmUp, name: "warm-up" }, without, spread, { ...left, facts: placesOf(stage) }] };
  },
};

/** What the places cost: time is what users wait for, processor time is what a busy machine leaves as it is. */
function timesOf(spread: Phase, without: Phase): Record<string, number> {
  const cpu = (spread.cpuMsPerPod ?? Number.NaN) / (without.cpuMsPerPod ?? Number.NaN);
  return {
    "time, times without a spread": spread.tookMs / without.tookMs,
    ...(Number.isFinite(cpu) ? { "manager CPU, times without a spread": cpu } : {}),
  };
}

async function scaledOut(stage: Stage, name: string): Promise<Phase> {
  const { pods } = stage.settings;
  return runPhase(stage, {
    name,
    pods,
    begin: () => stage.workloads.scale("CloneSet", NAME, pods),
    arrived: (pod) => runs(pod, firstImage),
    touched: () => true,
    budget: { replicas: pods, maxPods: pods },
    facts: () => placesOf(stage),
  });
}

/** Of the first two subsets. */
function subsetSize({ settings }: Stage): number {
  return Math.max(1, Math.floor(settings.pods / 3));
}

/** Pods by subset. */
function placesOf({ board }: Stage): Record<string, number> {
  const places: Record<string, number> = {};
  for (const pod of board.pods()) {
    const subset = isReady(pod) ? pod.metadata.labels?.[SUBSET] : undefined;
    if (subset !== undefined) places[`pods in ${subset}`] = (places[`pods in ${subset}`] ?? 0) + 1;
  }
  return places;
}

function spreadOf(stage: Stage): object {
  const maxReplicas = subsetSize(stage);
  const subset = (name: string) => ({ name, patch: { metadata: { labels: { [SUBSET]: name } } } });
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "WorkloadSpread",
    metadata: { name: NAME, labels: { [BENCH_LABEL]: stage.run } },
    spec: {
      targetRef: { apiVersion: "apps.kruise.io/v1beta1", kind: "CloneSet", name: NAME },
      subsets: [{ ...subset("first"), maxReplicas }, { ...subset("second"), maxReplicas }, subset("others")],
    },
  };
}
