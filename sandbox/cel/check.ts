/** Static types of an expression, and what the server refuses by them. Spec: the language definition of CEL, overloads. */
import { CelSyntaxError, type Expression, outsideSubset } from "./expression.ts";
import { patternOf } from "./pattern.ts";
import {
  agree,
  bool,
  type CelType,
  double,
  dyn,
  int,
  listOf,
  otherFunctions,
  otherVariables,
  string,
  typeText,
} from "./types.ts";

type Variables = ReadonlyMap<string, CelType>;

/** The type of the whole expression. Throws CelSyntaxError for the first part that cannot be right. */
export function checkExpression(expression: Expression, variables: Variables): CelType {
  switch (expression.kind) {
    case "literal":
      return expression.type;
    case "name":
      return nameType(expression, variables);
    case "list":
      return listType(expression, variables);
    case "select":
      return selectType(expression, variables);
    case "index":
      return indexType(expression, variables);
    case "unary":
      return unaryType(expression, variables);
    case "binary":
      return binaryType(expression, variables);
    case "conditional":
      return conditionalType(expression, variables);
    case "call":
      return callType(expression, variables);
    case "quantifier":
      return quantifierType(expression, variables);
  }
}

type Of<Kind extends Expression["kind"]> = Extract<Expression, { kind: Kind }>;

function noOverload(at: number, name: string, types: readonly CelType[], target?: CelType): CelSyntaxError {
  const of = target === undefined ? "" : `${typeText(target)}.`;
  const applied = `${of}(${types.map(typeText).join(", ")})`;
  return new CelSyntaxError(at, `found no matching overload for '${name}' applied to '${applied}'`);
}

function unexpected(at: number, wanted: CelType, found: CelType): CelSyntaxError {
  return new CelSyntaxError(at, `expected type '${typeText(wanted)}' but found '${typeText(found)}'`);
}

function nameType({ name, at }: Of<"name">, variables: Variables): CelType {
  const type = variables.get(name);
  if (type !== undefined) return type;
  if (otherVariables.has(name)) throw outsideSubset(at, `'${name}'`);
  throw new CelSyntaxError(at, `undeclared reference to '${name}' (in container '')`);
}

function listType({ items }: Of<"list">, variables: Variables): CelType {
  let of: CelType | undefined;
  for (const item of items) {
    const type = checkExpression(item, variables);
    if (of !== undefined && !agree(of, type)) throw unexpected(item.at, of, type);
    of = of === undefined ? type : joined(of, type);
  }
  return listOf(of ?? dyn);
}

/** One type for two that agree. */
function joined(one: CelType, other: CelType): CelType {
  return typeText(one) === typeText(other) ? one : dyn;
}

function selectType({ of, field, isTest, at }: Of<"select">, variables: Variables): CelType {
  const type = checkExpression(of, variables);
  const found = fieldType(type, field);
  if (found === undefined) {
    if (type.kind === "object") throw new CelSyntaxError(at, `undefined field '${field}'`);
    throw new CelSyntaxError(at, `type '${typeText(type)}' does not support field selection`);
  }
  return isTest ? bool : found;
}

function fieldType(type: CelType, field: string): CelType | undefined {
  if (type.kind === "dyn") return dyn;
  if (type.kind === "map") return type.of;
  return type.kind === "object" && Object.hasOwn(type.fields, field) ? type.fields[field] : undefined;
}

function indexType({ of, key, at }: Of<"index">, variables: Variables): CelType {
  const [type, keyType] = [checkExpression(of, variables), checkExpression(key, variables)];
  if (type.kind === "dyn") return dyn;
  if (type.kind === "list" && agree(keyType, int)) return type.of;
  if (type.kind === "map" && agree(keyType, string)) return type.of;
  throw noOverload(at, "_[_]", [type, keyType]);
}

function unaryType({ operator, operand, at }: Of<"unary">, variables: Variables): CelType {
  const type = checkExpression(operand, variables);
  const accepted = operator === "!" ? [bool] : [int, double];
  if (!accepted.some((each) => agree(type, each))) throw noOverload(at, `${operator}_`, [type]);
  return operator === "!" ? bool : type;
}

const numbers: ReadonlySet<string> = new Set(["int", "double", "dyn"]);

function binaryType({ operator, left, right, at }: Of<"binary">, variables: Variables): CelType {
  const [one, other] = [checkExpression(left, variables), checkExpression(right, variables)];
  const refusal = (): CelSyntaxError => {
    return noOverload(at, operator === "in" ? "@in" : `_${operator}_`, [one, other]);
  };
  switch (operator) {
    case "||":
    case "&&":
      if (!agree(one, bool)) throw unexpected(left.at, bool, one);
      if (!agree(other, bool)) throw unexpected(right.at, bool, other);
      return bool;
    case "==":
    case "!=":
      if (!agree(one, other)) throw refusal();
      return bool;
    case "in":
      if (!mayHold(other, one)) throw refusal();
      return bool;
    case "<":
    case "<=":
    case ">":
    case ">=":
      if (!isOrdered(one, other)) throw refusal();
      return bool;
    default: {
      const type = one.kind === "dyn" ? other : one;
      const accepted =
        operator === "%"
          ? ["int"]
          : operator === "+"
            ? ["int", "double", "string", "list"]
            : ["int", "double"];
      if (!agree(one, other) || ![...accepted, "dyn"].includes(type.kind)) throw refusal();
      return type;
    }
  }
}

function mayHold(type: CelType, item: CelType): boolean {
  if (type.kind === "list") return agree(item, type.of);
  return type.kind === "dyn" || (type.kind === "map" && agree(item, string));
}

function isOrdered(one: CelType, other: CelType): boolean {
  if (numbers.has(one.kind) && numbers.has(other.kind)) return true;
  return (
    agree(one, other) &&
    [one, other].every(({ kind }) => kind === "dyn" || kind === "bool" || kind === "string")
  );
}

function conditionalType({ condition, yes, no, at }: Of<"conditional">, variables: Variables): CelType {
  const type = checkExpression(condition, variables);
  const [one, other] = [checkExpression(yes, variables), checkExpression(no, variables)];
  if (!agree(type, bool) || !agree(one, other)) throw noOverload(at, "_?_:_", [type, one, other]);
  return joined(one, other);
}

/** Functions on strings, with one string besides: `target.name(value)`. */
const stringTests: ReadonlySet<string> = new Set(["startsWith", "endsWith", "contains", "matches"]);

function callType(call: Of<"call">, variables: Variables): CelType {
  const { name, target, values, at } = call;
  const on = target === undefined ? undefined : checkExpression(target, variables);
  const types = values.map((value) => checkExpression(value, variables));
  const all = on === undefined ? types : [on, ...types];
  if (name === "size") {
    const [type] = all;
    const isSized = type !== undefined && ["string", "list", "map", "dyn"].includes(type.kind);
    if (!isSized || all.length !== 1) throw noOverload(at, name, types, on);
    return int;
  }
  if (stringTests.has(name)) {
    const isMethod = on !== undefined || name === "matches";
    const fits = all.length === 2 && all.every((type) => agree(type, string));
    if (!isMethod || !fits) throw noOverload(at, name, types, on);
    checkPattern(call);
    return bool;
  }
  if (otherFunctions.has(name)) throw outsideSubset(at, `'${name}'`);
  throw new CelSyntaxError(at, `undeclared reference to '${name}' (in container '')`);
}

/** Patterns that are known beforehand are compiled beforehand. */
function checkPattern({ name, values }: Of<"call">): void {
  const pattern = values.at(-1);
  if (name !== "matches" || pattern?.kind !== "literal") return;
  const compiled = patternOf(String(pattern.value));
  if (compiled.pattern !== undefined) return;
  throw compiled.isForeign
    ? outsideSubset(pattern.at, "this regular expression")
    : new CelSyntaxError(pattern.at, "invalid matches argument");
}

function quantifierType(quantifier: Of<"quantifier">, variables: Variables): CelType {
  const { of, variable, predicate } = quantifier;
  const range = checkExpression(of, variables);
  const item = range.kind === "list" ? range.of : range.kind === "map" ? string : dyn;
  if (!["list", "map", "dyn"].includes(range.kind)) {
    const why = "cannot be range of a comprehension (must be list, map, or dynamic)";
    throw new CelSyntaxError(of.at, `expression of type '${typeText(range)}' ${why}`);
  }
  const type = checkExpression(predicate, new Map([...variables, [variable, item]]));
  if (!agree(type, bool)) throw unexpected(predicate.at, bool, type);
  return bool;
}
