import fc from "fast-check";
import t from "tap";
import { compileGoRegexp, ParseError } from "./index.ts";

const wrongPattern: ReadonlySet<string> = new Set(["InvalidPattern", "PatternTooLarge"]);

function found(pattern: string, text: string): boolean | string {
  try {
    return compileGoRegexp(pattern).test(text);
  } catch (error) {
    if (error instanceof ParseError && wrongPattern.has(error.code)) return error.message;
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
    ["(?i)ſ", "s", true],
    ["(?i)^[^a]$", "A", false],
    ["^\\_\\123\\07$", "_S\x07", true],
    ["^\\p{Any}$", "😀", true],
    ["^[z-\\x{1F600}]$", "😀", true],
    ["^\\x{10000}$", "𐀀", true],
    ["^\\x{0041}{2}$", "AA", true],
    ["(?U)^a+?$", "aa", true],
    ["(?i-s:A.)", "a\n", false],
    ["^(a{2}){500}$", "a".repeat(1000), true],
    ["^(a{2}){500}$", "a".repeat(999), false],
    ["^a{1000}\\Q\\E$", "a".repeat(1000), true],
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
    "a**": "invalid nested repetition operator: `**`",
    "a{1001}": "invalid repeat count: `{1001}`",
    "a{2,1}": "invalid repeat count: `{2,1}`",
    "(?=a)": "invalid or unsupported Perl syntax: `(?=`",
    "\\1": "invalid escape sequence: `\\1`",
    "a\\": "trailing backslash at end of expression: ``",
    "\\é": "invalid escape sequence: `\\é`",
    "\\x{110000}": "invalid escape sequence: `\\x{110000`",
    "(?<=a)b": "invalid named capture: `(?<=a)b`",
    "(?P<n": "invalid named capture: `(?P<n`",
    "(?-)": "invalid or unsupported Perl syntax: `(?-)`",
    "a{1000}{2}": "invalid nested repetition operator: `{1000}{2}`",
    "(a{2}){501}": "invalid repeat count: `{501}`",
    "\\p{L": "invalid character class range: `\\p{L`",
    "[a-\\d]": "invalid escape sequence: `\\d`",
    "[b-a]": "invalid character class range: `b-a`",
    "\\p{Foo}": "invalid character class range: `\\p{Foo}`",
  };
  for (const [pattern, message] of Object.entries(refusals))
    t.equal(found(pattern, ""), `error parsing regexp: ${message}`, pattern);
});

t.test("what would take long to compile is refused before", async (t) => {
  const members = "a".repeat(300);
  const patterns = [
    "a".repeat(1001),
    "(a{1000}){1000}",
    "((a{100}){100}){100}",
    "a{1000}".repeat(100),
    "\\pL{0,1000}".repeat(80),
    `(${members}){1000}`,
    `(${members})\\Q\\E{1000}`,
    `(${members})(?i){1000}`,
    `\\\\(?:${members}){1000}`,
    "\\\\x{1000}".repeat(11),
  ];
  for (const pattern of patterns)
    t.equal(found(pattern, ""), "error parsing regexp: expression too large", pattern.slice(0, 40));
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
