import fc from "fast-check";
import t from "tap";
import { cellsOf, paintFor } from "./io.ts";
import { progressLine } from "./progress_line.ts";

const plain = paintFor({ isTTY: false, env: {} });
const colour = paintFor({ isTTY: true, env: {} });

t.test("the bar takes what room there is", async (t) => {
  const line = (columns: number) =>
    progressLine({ title: "updating", done: 5, total: 20, note: "3.2 s", columns }, plain);
  t.equal(line(40), "updating  ━━━━─────────────  5/20  3.2 s");
  t.equal(line(24), "updating  5/20  3.2 s");
  t.equal(line(16), "updating  5/20");
  t.equal(line(10), "5/20");
});

t.test("counts are on every terminal, and no line is wider than it", async (t) => {
  const lines = fc.property(
    fc.string({ maxLength: 30, unit: "grapheme-ascii" }),
    fc.nat(100_000),
    fc.nat(100_000),
    fc.integer({ min: 13, max: 200 }),
    (title, done, total, columns) => {
      const text = progressLine({ title, done, total, columns }, colour);
      return text.includes(`${done}/${total}`) && cellsOf(text) <= columns;
    },
  );
  t.doesNotThrow(() => fc.assert(lines, { seed: 15, numRuns: 2000 }));
});
