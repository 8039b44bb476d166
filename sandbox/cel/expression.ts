/** The tree of an expression, and what can be wrong with one. */
import type { CelType } from "./types.ts";

/** Integers are bigint, doubles are number. */
type Scalar = string | bigint | number | boolean | null;

export const comparisons = ["==", "!=", "<", "<=", ">", ">=", "in"] as const;
export const sums = ["+", "-"] as const;
export const products = ["*", "/", "%"] as const;
export type BinaryOperator =
  | "||"
  | "&&"
  | (typeof comparisons)[number]
  | (typeof sums)[number]
  | (typeof products)[number];

/** `at`: where the server points when this part is wrong, in code points from the beginning. */
export type Expression = { readonly at: number } & (
  | { readonly kind: "literal"; readonly type: CelType; readonly value: Scalar }
  | { readonly kind: "list"; readonly items: readonly Expression[] }
  | { readonly kind: "name"; readonly name: string }
  /** `of.field`, or `has(of.field)`. */
  | {
      readonly kind: "select";
      readonly of: Expression;
      readonly field: string;
      readonly isTest: boolean;
    }
  | { readonly kind: "index"; readonly of: Expression; readonly key: Expression }
  | { readonly kind: "unary"; readonly operator: "!" | "-"; readonly operand: Expression }
  | {
      readonly kind: "binary";
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly kind: "conditional";
      readonly condition: Expression;
      readonly yes: Expression;
      readonly no: Expression;
    }
  /** `target.name(values)` or `name(values)`. */
  | {
      readonly kind: "call";
      readonly name: string;
      readonly target: Expression | undefined;
      readonly values: readonly Expression[];
    }
  /** `of.all(variable, predicate)` and `of.exists(variable, predicate)`. */
  | {
      readonly kind: "quantifier";
      readonly macro: "all" | "exists";
      readonly of: Expression;
      readonly variable: string;
      readonly predicate: Expression;
    }
);

/** An expression that cannot be compiled. */
export class CelSyntaxError extends Error {
  override readonly name = "CelSyntaxError";
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }

  /** As the server prints it: with line and column, and the line itself with a mark below. */
  shownIn(source: string): string {
    const points = [...source];
    const before = points.slice(0, this.at).join("").split("\n");
    const column = [...(before.at(-1) ?? "")].length;
    const line = (source.split("\n")[before.length - 1] ?? "").replaceAll("\t", " ");
    const where = `<input>:${before.length}:${column + 1}`;
    return `ERROR: ${where}: ${this.message}\n | ${line}\n | ${".".repeat(column)}^`;
  }
}

/** What is CEL, but not carried out here. */
export function outsideSubset(at: number, what: string): CelSyntaxError {
  return new CelSyntaxError(at, `the sandbox does not evaluate ${what}`);
}
