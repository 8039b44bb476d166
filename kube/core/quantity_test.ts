import fc from "fast-check";
import t from "tap";
import {
  canonicalQuantity,
  formatQuantity,
  isQuantity,
  parseQuantity,
  quantityAdd,
  quantityCompare,
  quantityEqual,
  quantityValue,
} from "./index.ts";

const suffix = fc.constantFrom("", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "e3", "E-3", "e0");
const text = fc
  .tuple(fc.constantFrom("", "-", "+"), fc.nat(99_999), fc.option(fc.nat(999), { nil: undefined }), suffix)
  .map(
    ([sign, whole, fraction, suffix]) =>
      `${sign}${whole}${fraction === undefined ? "" : `.${fraction}`}${suffix}`,
  );

t.test("canonical texts keep the amount and stay as they are", (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(text, (text) => {
        const canonical = formatQuantity(parseQuantity(text));
        return quantityEqual(text, canonical) && formatQuantity(parseQuantity(canonical)) === canonical;
      }),
      { seed: 3, numRuns: 500 },
    ),
  );
  t.end();
});

t.test("comparison is a total order that agrees with the numbers", (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(text, text, (left, right) => {
        const order = quantityCompare(left, right);
        const numbers = Math.sign(quantityValue(left) - quantityValue(right));
        return order === -quantityCompare(right, left) && (order === 0 || numbers === 0 || order === numbers);
      }),
      { seed: 5, numRuns: 500 },
    ),
  );
  t.end();
});

t.test("known texts", (t) => {
  const known: Record<string, string> = {
    "0.5": "500m",
    "1000m": "1",
    "1500m": "1500m",
    "1024Mi": "1Gi",
    "1536Mi": "1536Mi",
    "1.5Gi": "1536Mi",
    "100Mi": "100Mi",
    "1000": "1k",
    "12.345": "12.345",
    "1e3": "1e3",
    "0": "0",
    "0Mi": "0",
    "1Ki": "1Ki",
    "512": "512",
    "0.1Gi": "107374182400m",
    "0.5Ki": "512",
    "-1.5": "-1500m",
    "100000n": "100u",
    "2E": "2E",
    "1E3": "1E3",
  };
  for (const [text, expected] of Object.entries(known)) t.equal(canonicalQuantity(text), expected, text);
  t.equal(canonicalQuantity(0.1), "100m");
  t.end();
});

t.test("sums and equality", (t) => {
  t.equal(quantityAdd("500m", "1"), "1500m");
  t.equal(quantityAdd("1Gi", "512Mi"), "1536Mi");
  t.equal(quantityEqual("1", "1000m"), true);
  t.equal(quantityEqual("1Gi", "1G"), false);
  t.equal(quantityEqual("x", "x"), true);
  t.equal(quantityEqual("x", "1"), false);
  t.end();
});

t.test("what is no quantity", (t) => {
  for (const bad of ["", "1x", "1.2.3", "1 Gi", "abc"]) {
    t.throws(
      () => parseQuantity(bad),
      { code: "InvalidQuantity", message: /must match the regular expression/ },
      bad,
    );
  }
  for (const bad of ["1kk", "1K", "1e", "1Kim"]) {
    t.throws(
      () => parseQuantity(bad),
      { code: "InvalidQuantity", message: "unable to parse quantity's suffix" },
      bad,
    );
  }
  t.equal(isQuantity({}), false);
  t.equal(isQuantity("1"), true);
  t.end();
});
