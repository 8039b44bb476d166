/** PodUnavailableBudgets: nobody's request takes more pods away than they allow. */
import type { StoredObject } from "../../sandbox/index.ts";
import { amountAt, isReady, numberAt, textAt } from "./fields.ts";
import type { Rule } from "./rule.ts";
import type { SeenPod } from "./seen.ts";

/** A budget knows of another scale, and of its own change, once a controller has seen it: also after one has died. */
const controllersAwayMs = 90_000;

export const budgets: Rule = ({ cluster, pod, seen, verb, now, staleMs }) => {
  const owner = pod && seen.owner(pod.owner);
  if (pod?.before === undefined || owner === undefined || owner.isGone || pod.isAside || verb === "update")
    return [];
  if (!isReady(pod.before) || (!pod.isGone && isReady(pod.now))) return [];
  pod.isTaken = true;
  const withinMs = staleMs + controllersAwayMs;
  const workload = owner.states.at(-1)?.object.metadata.name;
  const left = [...owner.pods.values()].filter((each) => isLeft(each, now - withinMs)).length;
  return cluster
    .objects("podunavailablebudgets.policy.kruise.io", pod.now.metadata.namespace)
    .filter((budget) => textAt(budget, "spec", "targetRef", "name") === workload)
    .filter(({ metadata }) => cluster.clock.now() - Date.parse(metadata.creationTimestamp ?? "") > withinMs)
    .flatMap((budget) => {
      const floor = floorOf(seen.recentStates(budget, withinMs), seen.recent(owner, withinMs));
      if (left >= floor) return [];
      return [
        `${owner.name}: ${left} pods are left in service, its budget ${budget.metadata.name} asks for ${floor}`,
      ];
    });
};

/** Whatever state of the budget and of the workload was the newest lately. */
function floorOf(budgetStates: readonly StoredObject[], workloadStates: readonly StoredObject[]): number {
  const floors = budgetStates.flatMap((budget) =>
    workloadStates.map((workload) => {
      const replicas = numberAt(workload, "spec", "replicas");
      return replicas - amountAt(budget, ["spec", "maxUnavailable"], replicas, Math.ceil, 0);
    }),
  );
  return Math.min(...floors);
}

/** In service; or it went by itself, and controllers may not know. */
function isLeft({ isTaken, isGone, now, outSince }: SeenPod, heard: number): boolean {
  return (!isGone && isReady(now)) || (!isTaken && outSince !== undefined && outSince >= heard);
}
