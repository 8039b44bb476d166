/** What admission refuses in the order of an update, for every kind that has one. Spec: cloneset 6. */
import { type FieldError, required, validateSelector } from "../../kube/core/index.ts";
import type { Static } from "../dsl.ts";
import { termCount } from "../rules.ts";
import type { priorityStrategy, scatterStrategy } from "../workload_fragments.ts";

type PriorityStrategy = Static<typeof priorityStrategy>;
type ScatterStrategy = Static<typeof scatterStrategy>;

/** Each error at its entry. */
export function priorityErrors(path: string, priorityStrategy: PriorityStrategy | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const weights = priorityStrategy?.weightPriority ?? [];
  const orders = priorityStrategy?.orderPriority ?? [];
  if (weights.length > 0 && orders.length > 0) {
    errors.push(required(path, "only one of weightPriority and orderPriority can be used"));
  }
  for (const [index, { weight, matchSelector }] of weights.entries()) {
    const item = `${path}.weightPriority[${index}]`;
    if (typeof weight !== "number" || weight < 0 || weight > 100) {
      errors.push(required(`${item}.weight`, "weight must be valid number in the range 1-100"));
    }
    if (termCount(matchSelector) === 0)
      errors.push(required(`${item}.matchSelector`, "selector can not be empty"));
    const [complaint] = validateSelector(matchSelector, "");
    if (complaint !== undefined) {
      errors.push(required(`${item}.matchSelector`, `invalid selector ${complaint.detail}`));
    }
  }
  for (const [index, order] of orders.entries()) {
    if (!order.orderedKey)
      errors.push(required(`${path}.orderPriority[${index}].orderedKey`, "order key can not be empty"));
  }
  return errors;
}

export function scatterErrors(path: string, scatterStrategy: ScatterStrategy | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, { key, value }] of (scatterStrategy ?? []).entries()) {
    const item = `${path}[${index}]`;
    if (!key) errors.push(required(item, "key should not be empty"));
    const pair = JSON.stringify([key, value]);
    if (seen.has(pair)) errors.push(required(item, `duplicated key=${key} value=${value}`));
    seen.add(pair);
  }
  return errors;
}
