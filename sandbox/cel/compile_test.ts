import fc from "fast-check";
import t from "tap";
import { CelEvaluationError, compileCondition } from "./compile.ts";

const seed = 20_262;

type Outcome = boolean | "error";

/** What the condition says of an object; its error as `error`. */
function outcome(source: string, object: unknown = {}): Outcome {
  const compiled = compileCondition(source);
  if (compiled.error !== undefined) throw new Error(compiled.error);
  try {
    return compiled.evaluate({ object, oldObject: null, request: {} });
  } catch (error) {
    if (error instanceof CelEvaluationError) return "error";
    throw error;
  }
}

/** Texts of each outcome; the last two are errors of their own kind. */
const operands = fc.constantFrom<readonly [text: string, outcome: Outcome]>(
  ["true", true],
  ["false", false],
  ["object.yes", true],
  ["object.no", false],
  ["object.missing", "error"],
  ["object.text", "error"],
);
const object = { yes: true, no: false, text: "true" };

function joined(outcomes: readonly Outcome[], decisive: boolean): Outcome {
  if (outcomes.includes(decisive)) return decisive;
  return outcomes.includes("error") ? "error" : !decisive;
}

t.test("a side that decides absorbs errors, on whichever side it is", async (t) => {
  fc.assert(
    fc.property(fc.array(operands, { minLength: 2, maxLength: 6 }), (parts) => {
      const texts = parts.map(([text]) => text);
      const outcomes = parts.map(([, each]) => each);
      for (const order of [texts, [...texts].reverse()]) {
        t.equal(outcome(order.join(" && "), object), joined(outcomes, false));
        t.equal(outcome(order.join(" || "), object), joined(outcomes, true));
      }
    }),
    { seed, numRuns: 200 },
  );
});

t.test("all and exists are the conjunction and the disjunction of their items", async (t) => {
  const items = fc.array(fc.constantFrom<Outcome>(true, false, "error"), { maxLength: 6 });
  fc.assert(
    fc.property(items, (outcomes) => {
      const list = outcomes.map((each) => (each === "error" ? {} : { value: each }));
      t.equal(outcome("object.list.all(item, item.value)", { list }), joined(outcomes, false));
      t.equal(outcome("object.list.exists(item, item.value)", { list }), joined(outcomes, true));
    }),
    { seed, numRuns: 200 },
  );
});

t.test("only the chosen side of a choice is looked at", async (t) => {
  t.equal(outcome("object.yes ? true : object.missing == 1", object), true);
  t.equal(outcome("object.no ? object.missing == 1 : true", object), true);
  t.equal(outcome("object.missing ? true : true", object), "error");
  t.equal(outcome("object.text ? true : true", object), "error");
});

t.test("equality is that of values, whatever they are inside of", async (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (one, other) => {
      t.equal(outcome("object.one == object.one", { one }), true);
      const isSame = outcome("object.one == object.other", { one, other });
      t.equal(outcome("object.other != object.one", { one, other }), isSame !== true);
      t.equal(outcome("object.one in [object.other]", { one, other }), isSame);
      t.equal(outcome("[object.one] == [object.other]", { one, other }), isSame);
    }),
    { seed, numRuns: 300 },
  );
});

t.test("members that every JavaScript object has are no keys", async (t) => {
  t.equal(outcome("has(object.constructor)"), false);
  t.equal(outcome("'toString' in object"), false);
  t.equal(outcome("object.__proto__ == object"), "error");
  t.equal(outcome("object['hasOwnProperty'] == 1"), "error");
  t.equal(outcome("object.constructor == 'x' && object.a.n == 1", { constructor: "x", a: { n: 1 } }), true);
});

t.test("patterns mean what they mean to the server, or are not taken", async (t) => {
  const meanings: readonly (readonly [pattern: string, text: string, expected: boolean])[] = [
    ["^a[^b-]*(?:c|\\.){1,3}?$", "axx.c", true],
    ["^a[^b-]*(?:c|\\.){1,3}?$", "abc", false],
    ["(?i)abc", "xABCx", true],
    ["^a{2$", "a{2", true],
    ["^[]a]+$", "]a", true],
    ["^[[:alpha:]]+$", "aZ", true],
    ["^[[:alpha:]]+$", "a1", false],
    ["(?P<name>a)", "bab", true],
    ["\\bword\\b", "a word.", true],
    ["\\bword\\b", "words", false],
    ["^\\x41$", "A", true],
    ["^\\s$", "\v", false],
    ["^.$", "😀", true],
  ];
  for (const [pattern, text, expected] of meanings) {
    const literal = JSON.stringify(pattern);
    t.equal(outcome(`object.text.matches(${literal})`, { text }), expected, pattern);
    t.equal(outcome(`matches(object.text, ${literal})`, { text }), expected, pattern);
  }
  for (const wrong of ["[", "a(", "(?=a)", "(a)\\1", "*"]) {
    const { error } = compileCondition(`request.name.matches(${JSON.stringify(wrong)})`);
    t.match(error, "<input>:1:22: invalid matches argument", wrong);
  }
});

t.test("says what it does not carry out, and reads nothing too deep", async (t) => {
  const refused: readonly (readonly [string, string])[] = [
    ["object.?a == 1", "the sandbox does not evaluate optional values"],
    [".object == 1", "the sandbox does not evaluate names that begin with a dot"],
    ["namespaceObject.x == 1", "the sandbox does not evaluate 'namespaceObject'"],
    ["isURL('a')", "the sandbox does not evaluate 'isURL'"],
    [
      "request.name.matches(object.a)",
      "the sandbox does not evaluate regular expressions that are not literals",
    ],
    [`object.a.matches('${"a".repeat(1001)}')`, "the sandbox does not evaluate this regular expression"],
    ["goPattern('a') == 1", "undeclared reference to 'goPattern'"],
    ["object.a.base64() == 'x'", "undeclared reference to 'base64'"],
    [Array(2000).fill("a").join("||"), "the sandbox does not evaluate expressions of that length"],
    ["(".repeat(900), "expression recursion limit exceeded: 250"],
    ["[".repeat(900), "expression recursion limit exceeded: 250"],
    ["-9223372036854775809 == 1", "invalid int literal"],
  ];
  for (const [source, what] of refused) t.match(compileCondition(source).error, what, source.slice(0, 40));
  for (const source of ["!".repeat(900), "-9223372036854775808 == 1 && true"]) {
    t.doesNotThrow(() => compileCondition(source), source.slice(0, 40));
  }
});

t.test("compiles or refuses any words, with a position inside the text", async (t) => {
  const word = fc.constantFrom(
    ..."object . a ( ) [ ] , ? : ! - + == in true null has exists all x 1 2.5 0x1f 'a' \"b\" r'\\' b'' 1u { } # \\ && || \n matches size".split(
      " ",
    ),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (words) => {
      const source = words.join(" ");
      const { error = "" } = compileCondition(source);
      const [, line = "1", column = "1"] = /<input>:(\d+):(\d+)/.exec(error) ?? [];
      const lines = source.split("\n");
      t.ok(Number(line) >= 1 && Number(line) <= lines.length, error);
      t.ok(Number(column) >= 1 && Number(column) <= (lines[Number(line) - 1] ?? "").length + 1, error);
    }),
    { seed, numRuns: 1000 },
  );
});
