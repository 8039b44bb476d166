/** Creation, updates and scaling of one workload. */
import { runPhase } from "../measure/phase.ts";
import { isReady, isTouched, runs } from "../measure/pod_state.ts";
import type { Phase } from "../measure/result.ts";
import { type Scenario, type Stage, shareOf } from "../scenario.ts";
import { firstImage, secondImage } from "../workloads.ts";
import { budgetOf, createPhase, NAME, scaleInPhase, updatePhase } from "./one_workload.ts";

export const create: Scenario = {
  name: "create",
  summary: "a CloneSet, until all its pods are ready",
  kinds: ["CloneSet"],
  run: async (stage) => ({
    phases: [await createPhase(stage, "CloneSet")],
    limit: await stage.measureLimit(),
  }),
};

export const scale: Scenario = {
  name: "scale",
  summary: "a CloneSet from half its pods to all of them and back",
  kinds: ["CloneSet"],
  async run(stage) {
    const { pods } = stage.settings;
    const half = Math.max(1, Math.floor(pods / 2));
    const created = await createPhase(stage, "CloneSet", { replicas: half });
    if (half === pods) return { phases: [created] };
    const out = await runPhase(stage, {
      name: "scale out",
      pods: pods - half,
      begin: () => stage.workloads.scale("CloneSet", NAME, pods),
      arrived: (pod) => runs(pod, firstImage),
      touched: () => true,
      budget: { replicas: pods, maxPods: pods },
    });
    return { phases: [created, out, await scaleInPhase(stage, "CloneSet", "scale in", half)] };
  },
};

export const rollout: Scenario = {
  name: "rollout",
  summary: "the image of a CloneSet is swapped in place",
  kinds: ["CloneSet"],
  async run(stage) {
    const created = await createPhase(stage, "CloneSet");
    const updated = await updatePhase(stage, "CloneSet", {
      name: "rollout in place",
      replicas: stage.settings.pods,
    });
    return { phases: [created, updated], limit: await stage.measureLimit() };
  },
};

export const recreate: Scenario = {
  name: "recreate",
  summary: "the pods of a CloneSet are replaced by pods with another image",
  kinds: ["CloneSet"],
  async run(stage) {
    const created = await createPhase(stage, "CloneSet", { recreate: true });
    const replicas = stage.settings.pods;
    return {
      phases: [created, await updatePhase(stage, "CloneSet", { name: "recreate", replicas, recreate: true })],
      limit: await stage.measureLimit(),
    };
  },
};

export const partition: Scenario = {
  name: "partition",
  summary: "a rollout in place in the steps of --steps",
  kinds: ["CloneSet"],
  async run(stage) {
    const { pods, steps } = stage.settings;
    const phases: Phase[] = [await createPhase(stage, "CloneSet")];
    let updated = 0;
    for (const step of steps) {
      const kept = Math.min(pods, shareOf(step, pods));
      const more = pods - kept - updated;
      if (more <= 0) continue;
      phases.push(await partitionStep(stage, step, kept, more));
      updated += more;
    }
    return { phases };
  },
};

function partitionStep(stage: Stage, step: string, kept: number, more: number): Promise<Phase> {
  const { pods } = stage.settings;
  const atBegin = new Set<string>();
  for (const pod of stage.board.pods()) if (isTouched(pod, secondImage)) atBegin.add(pod.metadata.uid ?? "");
  return runPhase(stage, {
    name: `partition ${step}`,
    pods: more,
    begin: () => stage.workloads.update("CloneSet", NAME, secondImage, kept),
    arrived: (pod) => runs(pod, secondImage),
    touched: (pod) => isTouched(pod, secondImage) && !atBegin.has(pod.metadata.uid ?? ""),
    budget: {
      replicas: pods,
      maxUnavailable: budgetOf(stage),
      maxUpdated: { image: secondImage, most: pods - kept },
    },
  });
}

export const one: Scenario = {
  name: "one",
  summary: "the whole life of one large CloneSet: created, rolled out, scaled to zero",
  kinds: ["CloneSet"],
  usualPods: 10_000,
  async run(stage) {
    const replicas = stage.settings.pods;
    const created = await createPhase(stage, "CloneSet");
    const updated = await updatePhase(stage, "CloneSet", { name: "rollout in place", replicas });
    const limit = await stage.measureLimit();
    return { phases: [created, updated, await scaleInPhase(stage, "CloneSet", "scale to zero", 0)], limit };
  },
};

export const statefulset: Scenario = {
  name: "statefulset",
  summary: "an Advanced StatefulSet, parallel, is created and updated in place",
  kinds: ["StatefulSet"],
  async run(stage) {
    const replicas = stage.settings.pods;
    const created = await createPhase(stage, "StatefulSet");
    return {
      phases: [created, await updatePhase(stage, "StatefulSet", { name: "rollout in place", replicas })],
      limit: await stage.measureLimit(),
    };
  },
};

export const nodeloss: Scenario = {
  name: "nodeloss",
  summary: "a tenth of the nodes is lost, until their pods run elsewhere",
  kinds: ["CloneSet"],
  async run(stage) {
    const { pods } = stage.settings;
    const created = await createPhase(stage, "CloneSet", { leavesLostNodes: true });
    const lost = stage.hollow.nodes.slice(0, Math.max(1, Math.ceil(stage.hollow.nodes.length / 10)));
    const names = new Set(lost);
    const hit = [...stage.board.pods()].filter((pod) => names.has(pod.spec.nodeName ?? "")).length;
    const known = new Set([...stage.board.pods()].map((pod) => pod.metadata.uid));
    const replaced = await runPhase(stage, {
      name: "nodes lost",
      pods: Math.max(1, hit),
      begin: () => stage.hollow.lose(lost),
      arrived: (pod) => isReady(pod) && !names.has(pod.spec.nodeName ?? ""),
      touched: (pod) => !known.has(pod.metadata.uid),
      budget: { replicas: pods, maxPods: pods },
      facts: () => ({ "nodes lost": lost.length, "pods lost": hit }),
    });
    return { phases: [created, replaced] };
  },
};
