import fc from "fast-check";
import t from "tap";
import {
  compileSelector,
  formatFieldErrors,
  formatSelector,
  type LabelSelector,
  parseFieldSelector,
  parseSelector,
  selectorText,
  validateSelector,
} from "./index.ts";

const key = fc.constantFrom("a", "b", "constructor", "x.y/z");
const value = fc.constantFrom("", "1", "2", "web");
const expression = fc.oneof(
  fc.record({
    key,
    operator: fc.constantFrom("In" as const, "NotIn" as const),
    values: fc.uniqueArray(value, { minLength: 1 }),
  }),
  fc.record({ key, operator: fc.constantFrom("Exists" as const, "DoesNotExist" as const) }),
);
const selector = fc.record({
  matchLabels: fc.dictionary(key, value, { noNullPrototype: true }),
  matchExpressions: fc.array(expression, { maxLength: 3 }),
});
const labels = fc.dictionary(key, value, { noNullPrototype: true });

function naive(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Record<string, string>,
): boolean {
  const has = (key: string) => Object.hasOwn(labels, key);
  return (
    Object.entries(matchLabels).every(([key, value]) => has(key) && labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const listed = has(key) && values.includes(labels[key] ?? "");
      if (operator === "In") return listed;
      if (operator === "NotIn") return !listed;
      return has(key) === (operator === "Exists");
    })
  );
}

t.test("compiled and re-parsed selectors agree with a naive evaluation", (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(selector, labels, (selector, labels) => {
        const expected = naive(selector, labels);
        const parsed = parseSelector(formatSelector(selector));
        return (
          compileSelector(selector).matches(labels) === expected &&
          parsed.matches(labels) === expected &&
          selectorText(parsed) === formatSelector(selector)
        );
      }),
      { seed: 11, numRuns: 400 },
    ),
  );
  t.end();
});

t.test("absent selectors match nothing, empty ones everything", (t) => {
  t.equal(compileSelector(undefined).matches({}), false);
  t.equal(compileSelector({}).matches({ a: "b" }), true);
  t.equal(compileSelector({ matchLabels: {} }).matches(undefined), true);
  t.end();
});

t.test("the canonical text is sorted by key", (t) => {
  const text = formatSelector({
    matchLabels: { z: "1", app: "web" },
    matchExpressions: [
      { key: "tier", operator: "In", values: ["b", "a"] },
      { key: "old", operator: "DoesNotExist" },
      { key: "new", operator: "Exists" },
    ],
  });
  t.equal(text, "app=web,new,!old,tier in (a,b),z=1");
  t.equal(formatSelector({}), "");
  t.end();
});

t.test("kubectl's grammar", (t) => {
  const text = (input: string) => selectorText(parseSelector(input));
  t.equal(text("x in (foo,,baz),y,z notin ()"), "x in (,baz,foo),y,z notin ()");
  t.equal(text(" a = b , !c,d!=e, f==g"), "a=b,!c,d!=e,f==g");
  t.equal(text("in in (in,notin),a="), "a=,in in (in,notin)");
  t.equal(text(""), "");
  t.equal(parseSelector("n>4,n<10").matches({ n: "9" }), true);
  t.equal(parseSelector("n>4").matches({ n: "x" }), false);
  t.equal(parseSelector("n>4").matches({ n: "4" }), false);
  t.end();
});

t.test("what cannot be parsed is said as the API server says it", (t) => {
  const message = (input: string) => {
    try {
      return selectorText(parseSelector(input));
    } catch (error) {
      return error instanceof Error ? error.message : "";
    }
  };
  t.equal(message("a,,b"), "found ',', expected: identifier after ','");
  t.equal(message(",a"), "found ',', expected: !, identifier, or 'end of string'");
  t.equal(message("a b"), "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
  t.equal(message("a in b"), "unable to parse requirement: found 'b' expected: '('");
  t.equal(message("a in (b"), "unable to parse requirement: found '', expected: ',' or ')'");
  t.equal(message("a=b c"), "found 'c', expected: ',' or 'end of string'");
  t.equal(message("a=="), "a==");
  t.equal(
    message("a>b"),
    "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
  );
  t.match(
    message("-a=b"),
    /^unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of/,
  );
  t.match(
    message("a=-"),
    /^unable to parse requirement: values\[0\]\[a\]: Invalid value: "-": a valid label must be/,
  );
  t.end();
});

t.test("bad selectors do not compile and are complained about with their path", (t) => {
  t.throws(() => compileSelector({ matchExpressions: [{ key: "a", operator: "In" }] }), {
    code: "InvalidSelector",
  });
  const errors = validateSelector(
    { matchLabels: { "a b": "c" }, matchExpressions: [{ key: "k", operator: "In" }] },
    "spec.selector",
  );
  t.match(
    formatFieldErrors(errors),
    /^\[spec\.selector\.matchLabels: Invalid value: "a b": name part must consist of .*, spec\.selector\.matchExpressions\[0\]\.values: Required value: must be specified when `operator` is 'In' or 'NotIn'\]$/,
  );
  t.same(validateSelector({ matchLabels: { a: "b" } }, "spec.selector"), []);
  t.end();
});

t.test("field selectors", (t) => {
  const pod: Record<string, string> = { "status.phase": "Running", "spec.nodeName": "a,b" };
  const matches = (text: string) => parseFieldSelector(text).matches((field) => pod[field] ?? "");
  t.equal(matches("status.phase=Running,spec.nodeName=a\\,b"), true);
  t.equal(matches("status.phase==Running"), true);
  t.equal(matches("status.phase!=Running"), false);
  t.equal(matches("metadata.name!=x"), true);
  t.equal(matches(""), true);
  t.throws(() => matches("status.phase"), {
    message: "invalid selector: 'status.phase'; can't understand 'status.phase'",
  });
  t.throws(() => matches("a=b=c"), { message: "invalid field selector: unescaped character in value: 61" });
  t.throws(() => matches("a=b\\x"), { message: "invalid field selector: invalid escape sequence: \\x" });
  t.throws(() => matches("a=b\\"), { message: "invalid field selector: invalid escape sequence: \\" });
  t.end();
});
