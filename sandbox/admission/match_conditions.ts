/** The match conditions of a webhook: whether a request that its rules want is one to ask about. */

import {
  type Bindings,
  CelEvaluationError,
  type CompiledCondition,
  compileCondition,
} from "../cel/compile.ts";
import { forbidden } from "../http/api_error.ts";
import { type Fields, objectsAt, textAt } from "../json.ts";
import type { Review } from "./admission.ts";

export interface MatchCondition {
  readonly expression: string;
  readonly compiled: CompiledCondition;
}

export function matchConditionsOf(webhook: Fields): readonly MatchCondition[] {
  return objectsAt(webhook, "matchConditions").map((condition) => {
    const expression = textAt(condition, "expression").trim();
    return { expression, compiled: compileCondition(expression) };
  });
}

/**
 * Whether all conditions hold. One that is false decides, whatever happens to the others; else an error refuses the
 * request (403), or skips a webhook that may fail.
 */
export function conditionsHold(
  conditions: readonly MatchCondition[],
  bindings: Bindings,
  review: Review,
  failurePolicy: string,
): boolean {
  const errors: string[] = [];
  for (const { expression, compiled } of conditions) {
    try {
      if (compiled.error !== undefined) errors.push(`compilation error: ${compiled.error}`);
      else if (!compiled.evaluate(bindings)) return false;
    } catch (error) {
      if (!(error instanceof CelEvaluationError)) throw error;
      errors.push(`expression '${expression}' resulted in error: ${error.message}`);
    }
  }
  if (errors.length === 0) return true;
  if (failurePolicy === "Ignore") return false;
  const distinct = [...new Set(errors)];
  const why = distinct.length > 1 ? `[${distinct.join(", ")}]` : distinct.join();
  throw forbidden(review.request.served, review.request.name, why);
}
