import fc from "fast-check";
import t from "tap";
import { compileGoRegexp, ParseError } from "./index.ts";

function found(pattern: string, text: string): boolean | string {
  try {
    return compileGoRegexp(pattern).test(text);
  } catch (error) {
    if (error instanceof ParseError && error.code === "InvalidPattern") return error.message;
    throw error;
  }
}

t.test("matches anywhere, unless anchored", async (t) => {
  const cases: readonly (readonly [pattern: string, text: string, expected: boolean])[] = [
    [".*", "", true],
    ["", "web", true],
    ["eb", "web", true],
    ["^eb", "web", false],
    ["^(?:app|web)-\\d+$", "web-10", true],
    ["^(app|web)-\\d+$", "db-10", false],
    ["^a{2,3}$", "aaaa", false],
    ["^a{2,}$", "aaaa", true],
    ["^a{2}b??$", "aa", true],
    ["(?i)^WEB$", "web", true],
    ["(?i:W)eb", "Web", true],
    ["(?i:w)EB", "Web", false],
    ["^[[:alpha:]_-]+$", "a_b-c", true],
    ["^[^a-c]$", "b", false],
    ["^[]a]$", "]", true],
    ["[\\d.]", "a.", true],
    ["\\bapp\\b", "my-app-1", true],
    ["\\bapp\\b", "myapp", false],
    ["(?m)^b$", "a\nb", true],
    ["^.$", "\n", false],
    ["(?s)^.$", "\n", true],
    ["\\Qa.b\\E$", "a.b", true],
    ["^\\p{Lu}\\PL$", "A1", true],
    ["^\\x41\\x{1F600}$", "A😀", true],
    ["(?P<name>x)y{0}z", "xz", true],
    ["a{,2}", "a{,2}", true],
    ["\\A\\.\\z", ".", true],
  ];
  for (const [pattern, text, expected] of cases)
    t.equal(found(pattern, text), expected, `${pattern} in ${text}`);
});

t.test("what Go refuses is refused", async (t) => {
  const refusals: Readonly<Record<string, string>> = {
    "(a": "missing closing ): `(a`",
    "a)": "unexpected ): `a)`",
    "[a": "missing closing ]: `[a`",
    "*": "missing argument to repetition operator: `*`",
    "a**": "invalid nested repetition operator: `a**`",
    "a{1001}": "invalid repeat count: `{1001}`",
    "a{2,1}": "invalid repeat count: `{2,1}`",
    "(?=a)": "invalid or unsupported Perl syntax: `(?=`",
    "\\1": "invalid escape sequence: `\\1`",
    "a\\": "trailing backslash at end of expression",
    "[b-a]": "invalid character class range: `b-a`",
    "\\p{Foo}": "invalid character class range: `\\p{Foo}`",
    "((a{100}){100}){100}": "expression too large",
  };
  for (const [pattern, message] of Object.entries(refusals))
    t.equal(found(pattern, ""), `error parsing regexp: ${message}`, pattern);
});

t.test("agrees with the engine that backtracks", async (t) => {
  const atom = fc.constantFrom(
    "a",
    "b",
    ".",
    "[ab]",
    "[^a]",
    "\\w",
    "^",
    "$",
    "\\b",
    "(?:a|b)",
    "(a|)",
    "(?:)",
  );
  const count = fc.constantFrom("", "", "*", "+", "?", "{2}", "{1,2}", "{0,}");
  const part = fc.tuple(atom, count).map(([one, times]) => (/^(\^|\$|\\b)$/.test(one) ? one : one + times));
  const pattern = fc
    .array(fc.array(part, { maxLength: 4 }), { minLength: 1, maxLength: 3 })
    .map((options) => options.map((parts) => parts.join("")).join("|"));
  const text = fc.string({ unit: fc.constantFrom("a", "b", "-"), maxLength: 8 });
  const property = fc.property(pattern, text, (pattern, text) => {
    return compileGoRegexp(pattern).test(text) === new RegExp(pattern).test(text);
  });
  t.doesNotThrow(() => fc.assert(property, { seed: 1, numRuns: 3000 }));
});

t.test("a hostile expression takes no longer than another", async (t) => {
  t.equal(found("^(a+)+$", `${"a".repeat(5000)}b`), false);
  t.equal(found(`^${"a?".repeat(60)}${"a".repeat(60)}$`, "a".repeat(60)), true);
});
