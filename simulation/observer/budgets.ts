/** PodUnavailableBudgets: nobody's request takes more pods away than they allow. */
import type { StoredObject } from "../../sandbox/index.ts";
import { amountAt, isReady, textAt } from "./fields.ts";
import type { Rule } from "./rule.ts";
import type { SeenOwner, SeenPod } from "./seen.ts";

/** A budget knows of pods that went by themselves, and of another scale, once a controller has seen it: also after one died. */
const controllersAwayMs = 90_000;

export const budgets: Rule = ({ cluster, pod, seen, verb, staleMs }) => {
  const owner = pod && seen.owner(pod.owner);
  if (pod?.before === undefined || owner === undefined || owner.isGone) return [];
  if (!isReady(pod.before) || (!pod.isGone && isReady(pod.now)) || verb === "update") return [];
  pod.isTaken = true;
  return cluster
    .objects("podunavailablebudgets.policy.kruise.io", pod.now.metadata.namespace)
    .filter(
      (budget) => textAt(budget, "spec", "targetRef", "name") === owner.states.at(-1)?.object.metadata.name,
    )
    .flatMap((budget) => beyond(budget, owner, seen.recent(owner, staleMs + controllersAwayMs)));
};

function beyond(budget: StoredObject, { name, pods }: SeenOwner, states: readonly StoredObject[]): string[] {
  // It may have been created or changed a moment ago: then it holds for what comes after.
  if (budget.metadata.generation !== 1 || textAt(budget, "status", "observedGeneration") === "0") return [];
  const taken = [...pods.values()].filter(isTaken).length;
  const most = Math.max(
    ...states.map((state) => {
      const replicas = Number(Reflect.get(Object(state["spec"]), "replicas"));
      return amountAt(budget, ["spec", "maxUnavailable"], replicas, Math.ceil, 0);
    }),
  );
  if (taken <= most || states.length > 1) return [];
  return [`${name}: ${taken} pods were taken away, its budget ${budget.metadata.name} allows ${most}`];
}

/** By a request, and it is not gone yet, or not back. */
function isTaken({ isTaken, isGone, now }: SeenPod): boolean {
  return isTaken && !isGone && !isReady(now);
}
