/** What budgets have to do with the admission of pods, by the gates: the tie of new ones, and the guard. */
import { oldRelatedBudgetAnnotation, relatedBudgetAnnotation } from "../../../crds/index.ts";
import { ignoreNotFound } from "../../../kube/index.ts";
import { replicaSetResource } from "../../native/workload.ts";
import { podUnavailableBudgetResource } from "../../plan/resources.ts";
import type {
  DisruptionGuard,
  PodAdmission,
  PodAdmissionDeps,
  PodGuardDeps,
} from "../../runtime/admission/pod_admission.ts";
import { namespaceIndex } from "../../runtime/informers.ts";
import { budgetsAreOn } from "./gates.ts";
import { BudgetGuard, guardPods } from "./guard.ts";
import { addRelatedBudget, type RelatedBudgetOptions } from "./pod_step.ts";

export const budgetPodAdmission: PodAdmission = {
  step: { place: "budget", name: "pod unavailable budget" },
  guard: {
    place: "decision",
    // A pod that a budget selects gets them at its creation or from the budget's controller.
    ties: [relatedBudgetAnnotation, oldRelatedBudgetAnnotation].map(
      (annotation) => `"${annotation}" in oldObject.metadata.annotations`,
    ),
  },
  start: (deps) => {
    if (!budgetsAreOn(deps.options.gates)) return {};
    const budgets = relatedBudgets(deps);
    return {
      mutation: () => (draft) => addRelatedBudget(draft, budgets),
      guard: guardPods(deps),
    };
  },
};

/** Spec protection, rule 22: as `kruise-manager`, for real. */
export function budgetDisruptionGuard(deps: PodGuardDeps): DisruptionGuard | undefined {
  if (!deps.options.gates.PodUnavailableBudgetUpdateGate) return undefined;
  const guard = new BudgetGuard(deps);
  return async (pod) => (await guard.ask(pod, "UPDATE", "kruise-manager", false)).allowed;
}

function relatedBudgets({ client, informers }: PodAdmissionDeps): RelatedBudgetOptions {
  const byNamespace = informers.cacheOf(podUnavailableBudgetResource, namespaceIndex);
  return {
    async budgetsOf(namespace) {
      await informers.caughtUp();
      const found = [...byNamespace.byIndex("namespace", namespace)];
      return found.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    },
    async controllerOfReplicaSet(namespace, name) {
      const found = await client.get(replicaSetResource, { namespace, name }).catch(ignoreNotFound);
      return found?.controller;
    },
  };
}
