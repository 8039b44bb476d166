import fc from "fast-check";
import t from "tap";
import { compileCondition } from "./compile.ts";
import { CelEvaluationError } from "./evaluate.ts";
import { patternOf } from "./pattern.ts";

const seed = 20_262;

type Outcome = boolean | "error";

/** What the condition says of an object; its error as `error`. */
function outcome(source: string, object: unknown = {}): Outcome {
  const compiled = compileCondition(source);
  if (compiled.error !== undefined) throw new Error(compiled.error);
  try {
    return compiled.evaluate(new Map([["object", object]]));
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
});

t.test("patterns mean what they mean to the server, or are not taken", async (t) => {
  const pattern = patternOf("^a[^b-]*(?:c|\\.){1,3}?$").pattern;
  t.equal(pattern?.test("axx.c"), true);
  t.equal(pattern?.test("abc"), false);
  for (const wrong of ["[", "a(", "(?=a)", "(a)\\1", "*"]) {
    t.same(patternOf(wrong), { pattern: undefined, isForeign: false }, wrong);
  }
  for (const foreign of ["(?i)abc", "a{2", "[]a]", "[[:alpha:]]", "(?P<name>a)", "\\bword\\b", "\\x41"]) {
    t.same(patternOf(foreign), { pattern: undefined, isForeign: true }, foreign);
  }
});
