/** Conditions of webhooks: the library compiles and evaluates them, the server's words say what is wrong. */
import {
  type ASTNode,
  TypeError as CelTypeError,
  EvaluationError,
  ParseError,
  serialize,
} from "@marcbachmann/cel-js";
import { compileGoRegexp, ParseError as WrongText } from "../../kube/core/index.ts";
import { isFields } from "../json.ts";
import {
  CelSyntaxError,
  noOverload,
  outsideSubset,
  placeOf,
  syntaxComplaint,
  typeComplaint,
  typeOf,
  typeText,
  undeclared,
} from "./complaint.ts";
import {
  conditionEnvironment,
  foreignFunctions,
  goPattern,
  otherFunctions,
  otherVariables,
} from "./declarations.ts";

/** An expression that has no value for these variables, worded as the server words it. */
export class CelEvaluationError extends Error {
  override readonly name = "CelEvaluationError";
}

/** JSON values; an absent object is null. */
export interface Bindings {
  readonly object: unknown;
  readonly oldObject: unknown;
  readonly request: unknown;
}

export type CompiledCondition =
  | {
      readonly error: undefined;
      /** Throws CelEvaluationError. */
      evaluate(bindings: Bindings): boolean;
    }
  /** Why the server refuses the expression. */
  | { readonly error: string };

const environment = conditionEnvironment();
const functions = new Set(environment.getDefinitions().functions.map(({ name }) => name));

/** Compiles a condition over `object`, `oldObject` and `request`. */
export function compileCondition(source: string): CompiledCondition {
  try {
    const parsed = environment.parse(source);
    const parts = [...partsOf(parsed.ast)];
    for (const part of parts) checkPart(part);
    const { error, type = "" } = parsed.check();
    if (error !== undefined) throw error;
    if (type !== "bool") return { error: `must evaluate to bool but got ${typeText(type)}` };
    const condition = environment.parse(withGoPatterns(source, parts));
    return {
      error: undefined,
      evaluate(bindings) {
        const variables = variablesOf(bindings);
        try {
          return condition(variables) === true;
        } catch (error) {
          throw new CelEvaluationError(failureText(firstFailure(condition.ast, variables, error)));
        }
      },
    };
  } catch (error) {
    return { error: `compilation failed: ${complaintOf(error, source).shownIn(source)}` };
  }
}

function complaintOf(error: unknown, source: string): CelSyntaxError {
  if (error instanceof CelSyntaxError) return error;
  if (error instanceof ParseError) return syntaxComplaint(error, source);
  if (error instanceof CelTypeError) return typeComplaint(error, environment);
  throw error;
}

/** The parts of an expression as the server checks them: a part after its operands. */
function* partsOf(part: ASTNode): Generator<ASTNode> {
  const operands = part.op === "value" || part.op === "id" ? [] : [part.args].flat(3);
  for (const operand of operands) if (typeof operand !== "string") yield* partsOf(operand);
  yield part;
}

/** What the library lets pass, and the server does not. */
function checkPart(part: ASTNode): void {
  if (part.op === "value" && typeof part.args === "bigint") checkInteger(part, part.args);
  if (part.op === "id" && otherVariables.has(part.args)) throw outsideSubset(part.start, `'${part.args}'`);
  if (part.op !== "call" && part.op !== "rcall") return;
  const [name] = part.args;
  const place = placeOf(part);
  if (otherFunctions.has(name)) throw outsideSubset(place, `'${name}'`);
  if (!functions.has(name) || foreignFunctions.has(name)) throw undeclared(place, name);
  if (name === "matches") checkPattern(patternIn(part));
  if (part.op === "rcall") checkStringTest(part.args, place);
}

function checkInteger({ input, start }: ASTNode, value: bigint): void {
  const signed = input[start - 1] === "-" ? -value : value;
  if (BigInt.asIntN(64, signed) !== signed) throw new CelSyntaxError(start, "invalid int literal");
}

/** The pattern of a call of `matches`. */
function patternIn(part: ASTNode): ASTNode | undefined {
  if ((part.op !== "call" && part.op !== "rcall") || part.args[0] !== "matches") return undefined;
  return (part.op === "call" ? part.args[1] : part.args[2]).at(-1);
}

/** What is known beforehand is evaluated beforehand. */
function checkPattern(pattern: ASTNode | undefined): void {
  if (pattern === undefined) return;
  if (typeof pattern.args !== "string" || pattern.op !== "value")
    throw outsideSubset(placeOf(pattern), "regular expressions that are not literals");
  try {
    compileGoRegexp(pattern.args);
  } catch (error) {
    if (!(error instanceof WrongText)) throw error;
    throw error.code === "InvalidPattern"
      ? new CelSyntaxError(pattern.start, "invalid matches argument")
      : outsideSubset(pattern.start, "this regular expression");
  }
}

/** The library's own `matches` takes a string for an expression of JavaScript. */
function withGoPatterns(source: string, parts: readonly ASTNode[]): string {
  const patterns = parts.map(patternIn).filter((pattern) => pattern !== undefined);
  let text = source;
  for (const { start, end } of patterns.toSorted((a, b) => b.start - a.start))
    text = `${text.slice(0, start)}${goPattern}(${text.slice(start, end)})${text.slice(end)}`;
  return text;
}

const stringTests: ReadonlySet<string> = new Set(["startsWith", "endsWith", "contains", "matches"]);

/** Behind what has no type of its own the library takes any arguments, also those that no overload has. */
function checkStringTest([name, target, values]: [string, ASTNode, ASTNode[]], place: number): void {
  if (!stringTests.has(name) || typeOf(target, environment) !== "dyn") return;
  const { error } = environment.check(`''.${name}(${values.map(serialize).join()})`);
  const types = values.map((value) => typeOf(value, environment));
  if (error?.code === "no_matching_overload") throw noOverload(place, name, `dyn.(${types.join(", ")})`);
}

/** Objects are read only where the expression names them. */
function variablesOf({ object, oldObject, request }: Bindings): Bindings {
  return {
    get object() {
      return celValue(object);
    },
    get oldObject() {
      return celValue(oldObject);
    },
    request,
  };
}

/** Integers as bigint; as a map what has a member that the library takes for the object's class. */
function celValue(value: unknown): unknown {
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(celValue);
  if (!isFields(value)) return value;
  let isSame = true;
  const items = new Map<string, unknown>();
  for (const key of Object.keys(value)) {
    const item = celValue(value[key]);
    items.set(key, item);
    isSame &&= item === value[key] && key !== "constructor";
  }
  return isSame ? value : items;
}

/** Where both sides fail, the server tells of the first and the library of the second. */
function firstFailure(expression: ASTNode, variables: Bindings, failure: unknown): unknown {
  if (expression.op !== "&&" && expression.op !== "||") return failure;
  const [left, right] = expression.args;
  try {
    environment.evaluate(serialize(left), variables);
    return firstFailure(right, variables, failure);
  } catch (error) {
    return firstFailure(left, variables, error);
  }
}

function failureText(failure: unknown): string {
  if (!(failure instanceof EvaluationError)) throw failure;
  const { code, summary } = failure;
  switch (code) {
    case "no_such_key":
      return summary.replace("No such key", "no such key");
    case "index_out_of_bounds":
      return `index out of bounds: ${/index (-?\d+)/.exec(summary)?.[1] ?? ""}`;
    case "modulo_by_zero":
      return "modulus by zero";
    case "no_such_overload":
    case "no_matching_overload":
    case "invalid_logical_operand":
    case "invalid_condition_type":
    case "invalid_comprehension_range":
      return "no such overload";
    default:
      return summary;
  }
}
