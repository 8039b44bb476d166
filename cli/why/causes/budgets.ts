/** What a PodUnavailableBudget holds up. Spec: protection A4. */
import { inNamespace } from "../../resource_types.ts";
import type { Cause } from "./cause.ts";
import type { BudgetFacts, Facts } from "./facts.ts";
import { minute } from "./pod_reason.ts";
import { shownName } from "./shown_text.ts";

/** Refusals before that are over. */
const lately = 10 * minute;

/** Of events about pods that a budget did not let go. */
export const refusalEvent = "PubPreventPodDeletion";

/** The budget that a refusal of the server names, by the words of its admission. */
export function budgetNamed(words: string): string | undefined {
  return /podunavailablebudgets?(?:\.policy\.kruise\.io)? "([a-z0-9.-]{1,253})" is forbidden/.exec(
    words.slice(0, 2000),
  )?.[1];
}

/** Of a write of the controller that a budget refuses. */
export function refusedByBudget({ budgets, subject }: Facts, name: string, since: number | undefined): Cause {
  const known = budgets.find((budget) => budget.name === name);
  return { ...causeOf(known ?? unread(name), subject.namespace), since, stopsController: true };
}

/** Budgets that refused to let pods go, such as to somebody who drains a node, and have no room yet. */
export function refusingBudgets({ budgets, subject, now }: Facts): Cause[] {
  return budgets.flatMap((budget) => {
    const recent = [...budget.refusedPods].filter(([, at]) => now - at <= lately);
    const { counts } = budget;
    if (recent.length === 0 || (counts !== undefined && counts.available > counts.desired)) return [];
    const pods = recent.map(([name]) => name).sort();
    return [{ ...causeOf(budget, subject.namespace), pods, since: Math.min(...recent.map(([, at]) => at)) }];
  });
}

const unread = (name: string): BudgetFacts => ({ name, counts: undefined, refusedPods: new Map() });

/** Whether a budget refuses for good, and what ends that. `desired`: pods that must stay, of `total`. */
export function endOfRefusals(desired: number, total: number): Pick<Cause, "until" | "outlook"> {
  return desired >= total
    ? { until: "the budget leaves room: even with all pods available none may go", outlook: "stuck" }
    : { until: "more of its pods are available, or its limit is changed", outlook: "held" };
}

function causeOf({ name, counts }: BudgetFacts, namespace: string): Cause {
  const shown = shownName(name);
  const numbers =
    counts === undefined
      ? ""
      : `: ${counts.available} of ${counts.total} available, ${counts.desired} must stay`;
  return {
    reason: "PodUnavailableBudget",
    message: `budget ${shown} lets no pod go${numbers}`,
    ...endOfRefusals(counts?.desired ?? 0, counts?.total ?? 1),
    next: `refit why pub/${shown}${inNamespace(namespace)}`,
  };
}
