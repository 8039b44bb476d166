export { planBudget } from "./plan.ts";
export { podUnavailableBudgetShell } from "./reconcile.ts";
