/** Evaluates a checked expression. Spec: the language definition of CEL, runtime errors and logical operators. */
import { type Fields, isFields } from "../json.ts";
import type { BinaryOperator, Expression } from "./expression.ts";
import { patternOf } from "./pattern.ts";

/** An expression that has no value for these variables, worded as the server words it. */
export class CelEvaluationError extends Error {
  override readonly name = "CelEvaluationError";
}

export type Bindings = ReadonlyMap<string, unknown>;

const noOverload = "no such overload";

/** JSON values; integers as bigint. Throws CelEvaluationError. */
export function evaluateExpression(expression: Expression, bindings: Bindings): unknown {
  const evaluate = (part: Expression): unknown => evaluateExpression(part, bindings);
  switch (expression.kind) {
    case "literal":
      return expression.value;
    case "name":
      return fromJson(bindings.get(expression.name) ?? null);
    case "list":
      return expression.items.map(evaluate);
    case "select":
      return selected(expression, evaluate(expression.of));
    case "index":
      return member(evaluate(expression.of), evaluate(expression.key));
    case "unary":
      return expression.operator === "!"
        ? !boolean(evaluate(expression.operand))
        : negative(evaluate(expression.operand));
    case "binary":
      return binary(expression, evaluate);
    case "conditional":
      return evaluate(boolean(evaluate(expression.condition)) ? expression.yes : expression.no);
    case "call":
      return called(expression, evaluate);
    case "quantifier":
      return quantified(expression, bindings);
  }
}

type Of<Kind extends Expression["kind"]> = Extract<Expression, { kind: Kind }>;
type Evaluate = (part: Expression) => unknown;

function fromJson(value: unknown): unknown {
  return typeof value === "number" && Number.isInteger(value) ? BigInt(value) : value;
}

function boolean(value: unknown): boolean {
  if (typeof value !== "boolean") throw new CelEvaluationError(noOverload);
  return value;
}

function selected({ field, isTest }: Of<"select">, of: unknown): unknown {
  if (!isTest || Array.isArray(of)) return member(of, field);
  return isFields(of) && Object.hasOwn(of, field);
}

function member(of: unknown, key: unknown): unknown {
  if (Array.isArray(of)) {
    const at = typeof key === "bigint" ? Number(key) : key;
    if (typeof at !== "number" || !Number.isInteger(at)) {
      throw new CelEvaluationError(`unsupported index type '${typeName(key)}' in list`);
    }
    if (at < 0 || at >= of.length) throw new CelEvaluationError(`index out of bounds: ${at}`);
    return fromJson(of[at]);
  }
  if (isFields(of) && typeof key === "string" && Object.hasOwn(of, key)) return fromJson(of[key]);
  throw new CelEvaluationError(`no such key: ${String(key)}`);
}

function typeName(value: unknown): string {
  if (value === null) return "null_type";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "double";
  return typeof value === "boolean" ? "bool" : typeof value === "string" ? "string" : "map";
}

function negative(value: unknown): bigint | number {
  if (typeof value === "number") return -value;
  if (typeof value !== "bigint") throw new CelEvaluationError(noOverload);
  return inRange(-value);
}

function inRange(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new CelEvaluationError("integer overflow");
  return value;
}

function binary({ operator, left, right }: Of<"binary">, evaluate: Evaluate): unknown {
  if (operator === "||" || operator === "&&") return logical([left, right], operator === "||", evaluate);
  const [one, other] = [evaluate(left), evaluate(right)];
  switch (operator) {
    case "==":
      return areEqual(one, other);
    case "!=":
      return !areEqual(one, other);
    case "in":
      return isIn(one, other);
    case "<":
      return order(one, other) < 0;
    case "<=":
      return order(one, other) <= 0;
    case ">":
      return order(one, other) > 0;
    case ">=":
      return order(one, other) >= 0;
    default:
      return arithmetic(operator, one, other);
  }
}

/** One part that decides does so whatever is wrong with the others; else the first error is the result. */
function logical<T>(parts: Iterable<T>, decisive: boolean, evaluate: (part: T) => unknown): boolean {
  let failure: CelEvaluationError | undefined;
  for (const part of parts) {
    try {
      if (boolean(evaluate(part)) === decisive) return decisive;
    } catch (error) {
      if (!(error instanceof CelEvaluationError)) throw error;
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return !decisive;
}

function quantified({ macro, of, variable, predicate }: Of<"quantifier">, bindings: Bindings): boolean {
  const range = evaluateExpression(of, bindings);
  if (!Array.isArray(range) && !isFields(range)) throw new CelEvaluationError(noOverload);
  const items: readonly unknown[] = Array.isArray(range) ? range : Object.keys(range);
  return logical(items, macro === "exists", (item) =>
    evaluateExpression(predicate, new Map([...bindings, [variable, item]])),
  );
}

function isNumber(value: unknown): value is bigint | number {
  return typeof value === "bigint" || typeof value === "number";
}

/** Values of different types are unequal, but numbers are compared as numbers. */
function areEqual(one: unknown, other: unknown): boolean {
  if (isNumber(one) && isNumber(other)) return one <= other && one >= other;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, at) => areEqual(item, other[at]));
  }
  if (isFields(one) && isFields(other)) return sameFields(one, other);
  return one === other;
}

function sameFields(one: Fields, other: Fields): boolean {
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && areEqual(one[key], other[key]));
}

function isIn(item: unknown, range: unknown): boolean {
  if (Array.isArray(range)) return range.some((each) => areEqual(each, item));
  if (isFields(range)) return typeof item === "string" && Object.hasOwn(range, item);
  throw new CelEvaluationError(noOverload);
}

/** Below, at or above zero. */
function order(one: unknown, other: unknown): number {
  if (typeof one === "string" && typeof other === "string")
    return Buffer.compare(Buffer.from(one), Buffer.from(other));
  if (typeof one === "boolean" && typeof other === "boolean") return Number(one) - Number(other);
  if (isNumber(one) && isNumber(other)) {
    if (one <= other && one >= other) return 0;
    return one < other ? -1 : one > other ? 1 : Number.NaN;
  }
  throw new CelEvaluationError(noOverload);
}

function arithmetic(operator: BinaryOperator, one: unknown, other: unknown): unknown {
  if (typeof one === "bigint" && typeof other === "bigint") return integerArithmetic(operator, one, other);
  if (typeof one === "number" && typeof other === "number") {
    if (operator === "+") return one + other;
    if (operator === "-") return one - other;
    if (operator === "*") return one * other;
    if (operator === "/") return one / other;
  }
  if (operator === "+" && typeof one === "string" && typeof other === "string") return one + other;
  if (operator === "+" && Array.isArray(one) && Array.isArray(other)) return [...one, ...other];
  throw new CelEvaluationError(noOverload);
}

function integerArithmetic(operator: BinaryOperator, one: bigint, other: bigint): bigint {
  if (operator === "+") return inRange(one + other);
  if (operator === "-") return inRange(one - other);
  if (operator === "*") return inRange(one * other);
  if (other === 0n) throw new CelEvaluationError(operator === "/" ? "division by zero" : "modulus by zero");
  return operator === "/" ? inRange(one / other) : one % other;
}

function called({ name, target, values }: Of<"call">, evaluate: Evaluate): unknown {
  const [one, other] = (target === undefined ? values : [target, ...values]).map(evaluate);
  if (name === "size") return size(one);
  if (typeof one !== "string" || typeof other !== "string") throw new CelEvaluationError(noOverload);
  switch (name) {
    case "startsWith":
      return one.startsWith(other);
    case "endsWith":
      return one.endsWith(other);
    case "contains":
      return one.includes(other);
    default:
      return matches(one, other);
  }
}

function size(value: unknown): bigint {
  if (typeof value === "string") return BigInt([...value].length);
  if (Array.isArray(value)) return BigInt(value.length);
  if (isFields(value)) return BigInt(Object.keys(value).length);
  throw new CelEvaluationError(noOverload);
}

function matches(text: string, pattern: string): boolean {
  const compiled = patternOf(pattern);
  if (compiled.pattern !== undefined) return compiled.pattern.test(text);
  const why = compiled.isForeign
    ? "the sandbox does not evaluate this regular expression"
    : "error parsing regexp";
  throw new CelEvaluationError(`${why}: ${pattern}`);
}
