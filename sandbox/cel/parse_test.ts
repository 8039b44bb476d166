import fc from "fast-check";
import t from "tap";
import { type BinaryOperator, CelSyntaxError, type Expression } from "./expression.ts";
import { parseExpression } from "./parse.ts";
import { maxTokens } from "./tokens.ts";
import { bool, double, int, nullType, string } from "./types.ts";

const seed = 20_261;
const at = 0;

/** All in parentheses, so that only the meaning of each form is used. */
function printed(expression: Expression): string {
  switch (expression.kind) {
    case "literal":
      return literal(expression.value);
    case "list":
      return `[${expression.items.map(printed).join(", ")}]`;
    case "name":
      return expression.name;
    case "select": {
      const path = `(${printed(expression.of)}).${expression.field}`;
      return expression.isTest ? `has(${path})` : path;
    }
    case "index":
      return `(${printed(expression.of)})[${printed(expression.key)}]`;
    case "unary":
      return `${expression.operator}(${printed(expression.operand)})`;
    case "binary":
      return `(${printed(expression.left)}) ${expression.operator} (${printed(expression.right)})`;
    case "conditional": {
      const { condition, yes, no } = expression;
      return `(${printed(condition)}) ? (${printed(yes)}) : (${printed(no)})`;
    }
    case "call": {
      const target = expression.target === undefined ? "" : `(${printed(expression.target)}).`;
      return `${target}${expression.name}(${expression.values.map(printed).join(", ")})`;
    }
    case "quantifier": {
      const { of, macro, variable, predicate } = expression;
      return `(${printed(of)}).${macro}(${variable}, ${printed(predicate)})`;
    }
  }
}

function literal(value: string | bigint | number | boolean | null): string {
  if (typeof value === "string") {
    const hex = (point: number | undefined) => (point ?? 0).toString(16).padStart(8, "0");
    return `"${[...value].map((point) => `\\U${hex(point.codePointAt(0))}`).join("")}"`;
  }
  if (typeof value === "number") return value.toExponential();
  return String(value);
}

/** Without positions. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== "at")
      .map(([key, inner]) => [key, bare(inner)]),
  );
}

const names = fc.constantFrom("object", "oldObject", "request", "x", "inner", "trueish");
const operators = fc.constantFrom<BinaryOperator>(
  ...(["||", "&&", "==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/", "%"] as const),
);

const { expression } = fc.letrec<{ expression: Expression }>((tie) => {
  const inner = tie("expression");
  return {
    expression: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      names.map((name): Expression => ({ kind: "name", at, name })),
      fc.oneof(
        fc
          .string({ unit: "grapheme" })
          .map((value): Expression => ({ kind: "literal", at, type: string, value })),
        fc
          .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
          .map((value): Expression => ({ kind: "literal", at, type: int, value })),
        fc
          .double({ noNaN: true, noDefaultInfinity: true })
          .filter((value) => !Object.is(value, -0))
          .map((value): Expression => ({ kind: "literal", at, type: double, value })),
        fc.boolean().map((value): Expression => ({ kind: "literal", at, type: bool, value })),
        fc.constant<Expression>({ kind: "literal", at, type: nullType, value: null }),
      ),
      fc.array(inner, { maxLength: 3 }).map((items): Expression => ({ kind: "list", at, items })),
      fc
        .tuple(inner, names, fc.boolean())
        .map(([of, field, isTest]): Expression => ({ kind: "select", at, of, field, isTest })),
      fc.tuple(inner, inner).map(([of, key]): Expression => ({ kind: "index", at, of, key })),
      fc
        .tuple(fc.constantFrom("!" as const, "-" as const), inner)
        .map(([operator, operand]): Expression => ({ kind: "unary", at, operator, operand })),
      fc
        .tuple(operators, inner, inner)
        .map(([operator, left, right]): Expression => ({ kind: "binary", at, operator, left, right })),
      fc
        .tuple(inner, inner, inner)
        .map(([condition, yes, no]): Expression => ({ kind: "conditional", at, condition, yes, no })),
      fc
        .tuple(names, fc.option(inner, { nil: undefined }), fc.array(inner, { maxLength: 2 }))
        .map(([name, target, values]): Expression => ({ kind: "call", at, name, target, values })),
      fc.tuple(fc.constantFrom("all" as const, "exists" as const), inner, names, inner).map(
        ([macro, of, variable, predicate]): Expression => ({
          kind: "quantifier",
          at,
          macro,
          of,
          variable,
          predicate,
        }),
      ),
    ),
  };
});

t.test("reads what was printed", async (t) => {
  fc.assert(
    fc.property(expression, (made) => {
      t.same(bare(parseExpression(printed(made))), bare(made));
    }),
    { seed, numRuns: 300 },
  );
});

t.test("binds as the language says", async (t) => {
  const same: readonly (readonly [string, string])[] = [
    ["a || b && c == d + e * -f.g[0]", "a || (b && (c == (d + (e * (-((f.g)[0]))))))"],
    ["a - b - c", "(a - b) - c"],
    ["a < b == c", "(a < b) == c"],
    ["a ? b : c ? d : e", "a ? b : (c ? d : e)"],
    ["!a.b && c in d", "(!(a.b)) && (c in d)"],
    ["!!a", "!(!a)"],
    ["[1, 2,]", "[1, 2]"],
    ["a//b\n.c", "a.c"],
  ];
  for (const [one, other] of same) t.same(bare(parseExpression(one)), bare(parseExpression(other)), one);
});

t.test("never does anything but read or refuse, with a position inside the text", async (t) => {
  const word = fc.constantFrom(
    ..."object . a ( ) [ ] , ? : ! - + == in true null has exists all x 1 2.5 0x1f 'a' \"b\" r'\\' b'' 1u { } # \\ && || \n".split(
      " ",
    ),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (words) => {
      const source = words.join(" ");
      try {
        parseExpression(source);
      } catch (error) {
        if (!(error instanceof CelSyntaxError)) throw error;
        t.ok(error.at >= 0 && error.at <= source.length, source);
      }
    }),
    { seed, numRuns: 1000 },
  );
});

t.test("names what it does not carry out, and reads nothing too deep", async (t) => {
  const refused: readonly (readonly [string, string])[] = [
    ["1u == 1u", "unsigned integers"],
    ["b'a' == b'a'", "bytes"],
    ["{'a': 1} == object", "map literals"],
    ["object.?a == 1", "optional values"],
    [".object == 1", "names that begin with a dot"],
    [Array(maxTokens).fill("a").join("||"), `more than ${maxTokens} tokens`],
  ];
  for (const [source, what] of refused) {
    t.throws(() => parseExpression(source), { message: `the sandbox does not evaluate ${what}` });
  }
  for (const source of ["(".repeat(900), "!".repeat(900), "[".repeat(900)]) {
    t.throws(() => parseExpression(source), { message: "expression recursion limit exceeded: 250" });
  }
});
