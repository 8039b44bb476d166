/** Expressions that decide, from their text on. */
import { checkExpression } from "./check.ts";
import { type Bindings, evaluateExpression } from "./evaluate.ts";
import { CelSyntaxError } from "./expression.ts";
import { parseExpression } from "./parse.ts";
import { typeText, variableTypes } from "./types.ts";

export type CompiledCondition =
  | {
      readonly error: undefined;
      /** Throws CelEvaluationError. */
      evaluate(bindings: Bindings): boolean;
    }
  /** Why the server refuses the expression. */
  | { readonly error: string };

/** Compiles a condition over `object`, `oldObject` and `request`. */
export function compileCondition(source: string): CompiledCondition {
  try {
    const expression = parseExpression(source);
    const type = checkExpression(expression, variableTypes);
    if (type.kind !== "bool") return { error: `must evaluate to bool but got ${typeText(type)}` };
    return {
      error: undefined,
      evaluate: (bindings) => evaluateExpression(expression, bindings) === true,
    };
  } catch (error) {
    if (!(error instanceof CelSyntaxError)) throw error;
    return { error: `compilation failed: ${error.shownIn(source)}` };
  }
}
