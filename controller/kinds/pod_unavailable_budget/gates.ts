import type { FeatureGates } from "../../runtime/feature_gates.ts";

/** One of the two gates is on. */
export function budgetsAreOn(gates: FeatureGates): boolean {
  return gates.PodUnavailableBudgetDeleteGate || gates.PodUnavailableBudgetUpdateGate;
}
