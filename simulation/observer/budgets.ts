/** PodUnavailableBudgets: nobody's request takes more pods away than they allow. */
import type { StoredObject } from "../../sandbox/index.ts";
import { amountAt, isReady, numberAt, textAt } from "./fields.ts";
import type { Rule } from "./rule.ts";
import type { SeenPod } from "./seen.ts";

/** A budget knows of another scale, and of its own change, once a controller has seen it: also after one has died. */
const controllersAwayMs = 90_000;

export const budgets: Rule = ({ cluster, pod, seen, verb, staleMs }) => {
  const owner = pod && seen.owner(pod.owner);
  if (pod?.before === undefined || owner === undefined || owner.isGone || verb === "update") return [];
  if (!isReady(pod.before) || (!pod.isGone && isReady(pod.now))) return [];
  pod.isTaken = true;
  const withinMs = staleMs + controllersAwayMs;
  const workload = owner.states.at(-1)?.object.metadata.name;
  const taken = [...owner.pods.values()].filter(isAway).length;
  return cluster
    .objects("podunavailablebudgets.policy.kruise.io", pod.now.metadata.namespace)
    .filter((budget) => textAt(budget, "spec", "targetRef", "name") === workload)
    .filter(({ metadata }) => cluster.clock.now() - Date.parse(metadata.creationTimestamp ?? "") > withinMs)
    .flatMap((budget) => {
      const most = mostOf(seen.recentStates(budget, withinMs), seen.recent(owner, withinMs));
      if (taken <= most) return [];
      return [
        `${owner.name}: ${taken} pods were taken away, its budget ${budget.metadata.name} allows ${most}`,
      ];
    });
};

/** Whatever state of the budget and of the workload was the newest lately. */
function mostOf(budgetStates: readonly StoredObject[], workloadStates: readonly StoredObject[]): number {
  const amounts = budgetStates.flatMap((budget) =>
    workloadStates.map((workload) =>
      amountAt(budget, ["spec", "maxUnavailable"], numberAt(workload, "spec", "replicas"), Math.ceil, 0),
    ),
  );
  return Math.max(...amounts);
}

/** By a request, and it is not gone yet, and not back. */
function isAway({ isTaken, isGone, now }: SeenPod): boolean {
  return isTaken && !isGone && !isReady(now);
}
