import fc from "fast-check";
import t from "tap";
import { formatQuantity, ParseError, parseQuantity, type Quantity } from "../../kube/core/index.ts";
import { type ExpressionVariable, evaluateResourceExpression } from "./resource_expressions.ts";

function evaluate(text: string, value: string | number = 1, name: ExpressionVariable["name"] = "cpu") {
  const given = typeof value === "number" ? value : parseQuantity(value);
  try {
    return formatQuantity(evaluateResourceExpression(text, { name, value: given }));
  } catch (error) {
    if (error instanceof ParseError && error.code === "InvalidExpression") return error.message;
    throw error;
  }
}

t.test("amounts in relation to the pod's other containers", async (t) => {
  t.equal(evaluate("cpu*50% + 100m", "600m"), "400m");
  t.equal(evaluate("max(memory*20% + 100Mi, 200Mi)", "1000Mi", "memory"), "300Mi");
  t.equal(evaluate("MAX(memory - 100Mi, 50Mi)", "120Mi", "memory"), "50Mi");
  t.equal(evaluate("Min(cpu, 1)", "1500m"), "1");
  t.equal(evaluate("cpu / 3", "1"), "333m", "thousandths, not rounded");
  t.equal(evaluate("-(1 - cpu) * 2", "2"), "2");
  t.equal(evaluate("2 * 3 - 4 / 2 / 2 - 1"), "4", "from left to right");
  t.equal(evaluate("  .5 + 1e1*2 "), "20500m");
});

t.test("plain numbers are cores in thousandths, and whole bytes", async (t) => {
  t.equal(evaluate("0.1239"), "123m");
  t.equal(evaluate("1.9", 1, "memory"), "1");
  t.equal(evaluate("1024*1024", 1, "memory"), "1Mi");
  t.equal(evaluate("0"), "0");
});

t.test("a number beside a quantity is one; nothing has no format", async (t) => {
  t.equal(evaluate("0 + 100Mi", 1, "memory"), "100Mi");
  t.equal(evaluate("0.0009 + cpu", "1"), "1", "finer than thousandths");
  t.equal(evaluate("2*memory", "1Gi", "memory"), "2Gi", "the format stays");
});

t.test("what makes no sense is refused in the API's words", async (t) => {
  const refusals: readonly (readonly [text: string, message: string, value?: string])[] = [
    ["cpu*cpu", "multiplication of two quantities", "1"],
    ["1/cpu", "division by quantity", "1"],
    ["cpu/(1-1)", "division by zero", "1"],
    ["memory", "undefined variable: memory"],
    ["CPU", "undefined variable: CPU"],
    ["avg(1, 2)", "unknown function: avg"],
    ["max(1)", "max function requires exactly 2 arguments, got 1"],
    ["Min()", "min function requires exactly 2 arguments, got 0"],
    ["max(1,2,3)", "max function requires exactly 2 arguments, got 3"],
    ["cpu-2", "calculation result is negative: -1"],
    ["", "parse error: unexpected end of the expression at position 0"],
    ["1 +", "parse error: unexpected end of the expression at position 3"],
    ["(1", "parse error: unexpected end of the expression at position 2"],
    ["1 2", 'parse error: unexpected "2" at position 2'],
    ["1 $ 2", 'parse error: unexpected "$" at position 2'],
    ["5cpu", 'parse error: invalid number "5cpu"'],
    ["1Ei", 'parse error: invalid number "1Ei"'],
    ["1e999", 'parse error: invalid number "1e999"'],
    ["1e300*1e300", "calculation result is out of range: Infinity"],
    ["9000P+1000P", "calculation result is out of range: 10E"],
  ];
  for (const [text, message, value] of refusals) t.equal(evaluate(text, value), message, text);
});

t.test("length and depth are bounded, however deep the text is nested", async (t) => {
  t.equal(evaluate(`${"(".repeat(63)}1${")".repeat(63)}`), "1");
  t.match(evaluate(`${"(".repeat(64)}1${")".repeat(64)}`), /^parse error: nested deeper than 64/);
  t.match(evaluate("-".repeat(1000)), /^parse error: nested deeper/);
  t.match(evaluate("1+".repeat(600)), /^parse error: the expression has 1200 characters/);
});

/** An expression as a tree: what it reads as, and what it is worth; undefined where that makes no sense. */
interface Tree {
  readonly text: string;
  /** 3: needs no parentheses anywhere; 2: a product; 1: a sum. */
  readonly binding: 1 | 2 | 3;
  readonly number?: number | undefined;
  readonly milli?: number | undefined;
}

const leaf = fc.oneof(
  fc.nat(50).map((number): Tree => ({ text: String(number), binding: 3, number })),
  fc.nat(200).map((percent): Tree => ({ text: `${percent}%`, binding: 3, number: percent / 100 })),
  fc.nat(5000).map((milli): Tree => ({ text: `${milli}m`, binding: 3, milli })),
  fc.constant<Tree>({ text: "cpu", binding: 3, milli: 1500 }),
);

function wrapped({ text, binding }: Tree, least: number): string {
  return binding < least ? `(${text})` : text;
}

const milliOf = ({ number, milli }: Tree) => milli ?? Math.trunc((number ?? Number.NaN) * 1000);
const isWorthSomething = ({ number, milli }: Tree) => number !== undefined || milli !== undefined;

function joined(left: Tree, operator: "+" | "-" | "*" | "/", right: Tree): Tree {
  const binding = operator === "+" || operator === "-" ? 1 : 2;
  const text = `${wrapped(left, binding)} ${operator}${wrapped(right, binding + 1)}`;
  if (!isWorthSomething(left) || !isWorthSomething(right)) return { text, binding };
  const [a, b] = [left.number, right.number];
  if (operator === "+" || operator === "-") {
    const sign = operator === "+" ? 1 : -1;
    if (a !== undefined && b !== undefined) return { text, binding, number: a + sign * b };
    return { text, binding, milli: milliOf(left) + sign * milliOf(right) };
  }
  if (operator === "/") {
    if (b === undefined || b === 0) return { text, binding };
    if (a !== undefined) return { text, binding, number: a / b };
    return { text, binding, milli: Math.trunc((left.milli ?? Number.NaN) / b) };
  }
  if (a !== undefined && b !== undefined) return { text, binding, number: a * b };
  if (a === undefined && b === undefined) return { text, binding };
  return {
    text,
    binding,
    milli: Math.trunc((left.milli ?? a ?? Number.NaN) * (right.milli ?? b ?? Number.NaN)),
  };
}

function chosen(name: "max" | "min", left: Tree, right: Tree): Tree {
  const text = `${name}(${left.text}, ${right.text})`;
  if (!isWorthSomething(left) || !isWorthSomething(right)) return { text, binding: 3 };
  const [a, b] = [left.number, right.number];
  if (a !== undefined && b !== undefined) return { text, binding: 3, number: Math[name](a, b) };
  return { text, binding: 3, milli: Math[name](milliOf(left), milliOf(right)) };
}

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc
      .tuple(tie("tree"), fc.constantFrom<("+" | "-" | "*" | "/")[]>("+", "-", "*", "/"), tie("tree"))
      .map(([left, operator, right]) => joined(left, operator, right)),
    fc
      .tuple(fc.constantFrom<("max" | "min")[]>("max", "min"), tie("tree"), tie("tree"))
      .map(([name, left, right]) => chosen(name, left, right)),
  ),
}));

t.test("an evaluator of trees agrees", async (t) => {
  const value: Quantity = parseQuantity("1500m");
  let worth = 0;
  fc.assert(
    fc.property(tree, (tree) => {
      let found: number | undefined;
      try {
        const { nano } = evaluateResourceExpression(tree.text, { name: "cpu", value });
        found = Number(nano / 1_000_000n);
      } catch {
        found = undefined;
      }
      const expected = isWorthSomething(tree) ? milliOf(tree) : undefined;
      // Refused: negative, or beyond what an amount can be.
      const refused = expected === undefined || expected < 0 || expected > 2 ** 53;
      if (!refused) worth++;
      return refused ? found === undefined || found > 2 ** 53 : found === expected;
    }),
    { seed: 20, numRuns: 3000 },
  );
  t.ok(worth > 1000, `${worth} expressions were worth something`);
});
