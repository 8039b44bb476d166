import fc from "fast-check";
import t from "tap";
import { cellsOf, paintFor } from "../io.ts";
import { type StatusPicture, statusLines } from "./live_status.ts";

const plain = paintFor({ isTTY: false, env: {} });
const colour = paintFor({ isTTY: true, env: {} });

t.test("a bar, the pods by state, and the reason or how far it is", (t) => {
  const counts = { desired: 20, updated: 12, available: 18 };
  const picture: StatusPicture = {
    title: "web",
    counts,
    message: "12 of 20",
    waits: "",
    note: "about 9s left",
  };
  t.same(statusLines(picture, 60, plain), [
    "web  ━━━━━━━━━━━━━━━━━━━━─────────────  12/20  about 9s left",
    "  12 updated, 8 old, 2 not available",
    "  12 of 20",
  ]);
  t.equal(
    statusLines({ ...picture, waits: "Budget: 8 pods wait" }, 60, plain)[2],
    "  waits: Budget: 8 pods wait",
  );
  t.end();
});

t.test("whatever it says, no line is wider than the terminal", (t) => {
  const count = fc.nat(100_000);
  const picture = fc.record({
    title: fc.string({ unit: "grapheme-ascii", maxLength: 80 }),
    counts: fc.record({ desired: count, updated: count, available: count }),
    message: fc.string({ unit: "grapheme-ascii", maxLength: 300 }),
    waits: fc.string({ unit: "grapheme-ascii", maxLength: 300 }),
    note: fc.constantFrom("", "about 12m left"),
  });
  fc.assert(
    fc.property(picture, fc.integer({ min: 20, max: 200 }), (drawn, columns) =>
      statusLines(drawn, columns, colour).every((line) => cellsOf(line) <= columns),
    ),
    { numRuns: 2_000 },
  );
  t.end();
});
