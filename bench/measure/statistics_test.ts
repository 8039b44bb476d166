import fc from "fast-check";
import t from "tap";
import { seededRandom } from "../../kube/index.ts";
import { ascending, bootstrapRatio, quantile, thinned } from "./statistics.ts";

const options = { seed: 7, numRuns: 200 };
const samples = fc.array(fc.double({ min: 1, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 });

t.test("quantiles lie between neighbours", async (t) => {
  t.ok(Number.isNaN(quantile([], 0.5)), "no samples");
  t.equal(quantile([5], 0.99), 5);
  t.equal(quantile([1, 2, 3, 4], 0), 1);
  t.equal(quantile([1, 2, 3, 4], 1), 4);
  t.equal(quantile([1, 2, 3, 4], 0.5), 2.5);
  fc.assert(
    fc.property(samples, fc.double({ min: 0, max: 1, noNaN: true }), (values, at) => {
      const sorted = ascending(values);
      const found = quantile(sorted, at);
      const below = sorted.filter((value) => value <= found + 1e-6).length;
      return below >= Math.floor((sorted.length - 1) * at) + 1;
    }),
    options,
  );
});

t.test("thinning keeps ends, order and the number asked for", async (t) => {
  t.same(thinned([1, 2, 3], 5), [1, 2, 3]);
  fc.assert(
    fc.property(samples, fc.integer({ min: 2, max: 50 }), (values, most) => {
      const sorted = ascending(values);
      const few = thinned(sorted, most);
      return (
        few.length === Math.min(most, sorted.length) &&
        few[0] === sorted[0] &&
        few.at(-1) === sorted.at(-1) &&
        few.every((value, index) => index === 0 || value >= (few[index - 1] ?? 0))
      );
    }),
    options,
  );
});

t.test("a ratio has an interval only where both sides vary", async (t) => {
  t.same(bootstrapRatio([2], [1], seededRandom(1)), { ratio: 0.5 });
  t.same(bootstrapRatio([2, 2, 2], [1, 1, 1], seededRandom(1)), {
    ratio: 0.5,
    interval: { low: 0.5, high: 0.5 },
  });
  const random = seededRandom(3);
  const before = Array.from({ length: 40 }, () => 90 + 20 * random());
  const after = Array.from({ length: 40 }, () => 45 + 10 * random());
  const first = bootstrapRatio(before, after, seededRandom(5));
  t.same(bootstrapRatio(before, after, seededRandom(5)), first, "the same seed gives the same interval");
  const { low = 0, high = 0 } = first.interval ?? {};
  t.ok(low < first.ratio && first.ratio < high, "the ratio lies within");
  t.ok(low > 0.45 && high < 0.55, `0.5 within a narrow interval: ${low} to ${high}`);
});
