/** Steps that scenarios of one workload share. */
import { runPhase } from "../measure/phase.ts";
import { isReady, isTerminating, isTouched, runs } from "../measure/pod_state.ts";
import type { Phase } from "../measure/result.ts";
import { amountOf, type Stage } from "../scenario.ts";
import { firstImage, secondImage, type WorkloadKind, type WorkloadOptions } from "../workloads.ts";

export const NAME = "bench";

export function budgetOf({ settings }: Stage, pods = settings.pods): number {
  return amountOf(settings.maxUnavailable, pods);
}

/** Until all of its pods are ready; more than its replicas are a violation. */
export function createPhase(
  stage: Stage,
  kind: WorkloadKind,
  more: Partial<WorkloadOptions> = {},
): Promise<Phase> {
  const replicas = more.replicas ?? stage.settings.pods;
  const options = { kind, name: NAME, replicas, maxUnavailable: budgetOf(stage, replicas), ...more };
  return runPhase(stage, {
    name: "create",
    pods: replicas,
    begin: () => stage.workloads.create(options),
    arrived: (pod) => runs(pod, firstImage),
    touched: () => true,
    budget: { replicas, maxPods: replicas },
  });
}

/** Until all pods run the second image. */
export function updatePhase(
  stage: Stage,
  kind: WorkloadKind,
  options: { name: string; replicas: number; recreate?: boolean; workload?: string },
): Promise<Phase> {
  const { name, replicas, workload = NAME } = options;
  const uids = new Set([...stage.board.pods()].map((pod) => pod.metadata.uid));
  return runPhase(stage, {
    name,
    pods: replicas,
    begin: () => stage.workloads.update(kind, workload, secondImage),
    arrived: (pod) => runs(pod, secondImage),
    remaining: replicas,
    touched: (pod) => isTouched(pod, secondImage),
    budget: { replicas, maxUnavailable: budgetOf(stage, replicas) },
    facts: () => {
      const kept = [...stage.board.pods()].filter((pod) => uids.has(pod.metadata.uid));
      let restarts = 0;
      for (const pod of kept) restarts += pod.status?.containerStatuses?.[0]?.restartCount ?? 0;
      return {
        "pods kept": kept.length,
        ...(kept.length === 0 ? {} : { "restarts a pod": restarts / kept.length }),
      };
    },
  });
}

/** Until the pods that are too many are gone. */
export function scaleInPhase(stage: Stage, kind: WorkloadKind, name: string, to: number): Promise<Phase> {
  const leave = stage.board.size - to;
  return runPhase(stage, {
    name,
    pods: leave,
    begin: () => stage.workloads.scale(kind, NAME, to),
    remaining: to,
    touched: isTerminating,
    facts: () => ({ "pods left": [...stage.board.pods()].filter(isReady).length }),
  });
}
