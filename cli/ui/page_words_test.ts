/** What the page writes and sorts by hand, so that no browser loads a locale for it, is what a browser would have made. */
import fc from "fast-check";
import t from "tap";
import { compareNames } from "./page/name_order.ts";
import { tickWords } from "./page/plot_scale.ts";
import { clockTime } from "./page/words.ts";
import { pageFiles } from "./page_files.ts";

t.test("names are in the order of a collator that counts", async (t) => {
  const byLocale = new Intl.Collator("en", { numeric: true });
  const part = fc.constantFrom("a", "b", "z", "0", "1", "2", "9", "10", "007", "-", ".");
  const name = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(name, name, (a, b) => {
      const order = Math.sign(compareNames(a, b));
      // Names that differ by zeros before a number are equal to the collator.
      return byLocale.compare(a, b) === 0 ? (order === 0) === (a === b) : order === byLocale.compare(a, b);
    }),
    { seed: 7, numRuns: 20_000 },
  );
  const names = ["web-10", "web-9", "web", "web-100", "app-1", "web-9a"];
  t.strictSame(names.sort(compareNames), ["app-1", "web", "web-9", "web-9a", "web-10", "web-100"]);
});

t.test("numbers are grouped by thousands", async (t) => {
  const byLocale = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });
  for (const value of [
    0,
    1,
    12,
    999,
    1_000,
    12_345,
    1_234_567,
    0.25,
    0.000_001,
    1234.5678,
    -4_000,
    0.1 + 0.2,
  ])
    t.equal(tickWords(value), byLocale.format(value));
});

t.test("a time has two digits a part", async (t) => {
  t.equal(clockTime(new Date(2026, 0, 2, 0, 5, 9).getTime()), "00:05:09");
  t.equal(clockTime(new Date(2026, 0, 2, 14, 30, 0).getTime()), "14:30:00");
});

t.test("no module of the page makes what loads a locale while it is loaded itself", async (t) => {
  for (const [path, text] of Object.entries(await pageFiles()))
    t.notMatch(text, /new Intl\./, `${path} would delay the first frame`);
});
