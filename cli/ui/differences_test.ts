/** Differences lead from one state to the other and back, and a recording shows each state that was. */
import { array, assert as check, dictionary, integer, property, string } from "fast-check";
import t from "tap";
import { applyChange, Batch, type Change, difference } from "./shared/differences.ts";
import { Recording } from "./shared/recording.ts";

const key = string({ minLength: 1, maxLength: 1, unit: "grapheme-ascii" });
const states = dictionary(key, integer({ min: 0, max: 3 }), { maxKeys: 8 }).map(
  (entries) => new Map(Object.entries(entries)),
);

const sorted = (state: ReadonlyMap<string, number>) => [...state].sort(([a], [b]) => (a < b ? -1 : 1));

t.test("a difference leads to the other state, and what it returns leads back", async (t) => {
  check(
    property(states, states, (before, after) => {
      const state = new Map(before);
      const back = applyChange(state, difference(before, after, 1));
      t.strictSame(sorted(state), sorted(after));
      applyChange(state, back);
      t.strictSame(sorted(state), sorted(before));
    }),
  );
});

t.test("a whole state replaces what was there, and can be taken back", async (t) => {
  check(
    property(states, states, (before, after) => {
      const state = new Map(before);
      const back = applyChange(state, { at: 1, isWhole: true, put: [...after], gone: [] });
      t.strictSame(sorted(state), sorted(after));
      applyChange(state, back);
      t.strictSame(sorted(state), sorted(before));
    }),
  );
});

t.test("a batch leads where its changes lead one by one", async (t) => {
  check(
    property(states, array(states, { maxLength: 6 }), (before, steps) => {
      const one = new Map(before);
      const other = new Map(before);
      const batch = new Batch<number>();
      for (const step of steps) {
        const change = difference(one, step, 1);
        applyChange(one, change);
        for (const [name, item] of change.put) batch.put(name, item);
        for (const name of change.gone) batch.remove(name);
      }
      applyChange(other, batch.take(2));
      t.strictSame(sorted(other), sorted(one));
      t.strictSame(batch.take(3), { at: 3, put: [], gone: [] }, "it is empty then");
    }),
  );
});

t.test("equal items are no difference", async (t) => {
  const change = difference(new Map([["a", { x: 1 }]]), new Map([["a", { x: 1 }]]), 1);
  t.strictSame(change, { at: 1, put: [], gone: [] });
});

t.test("a recording shows each state as it was, in any order of asking", async (t) => {
  const times = array(integer({ min: -1, max: 12 }), { minLength: 1, maxLength: 12 });
  check(
    property(array(states, { minLength: 1, maxLength: 10 }), times, (seen, asked) => {
      const recording = new Recording<number>();
      for (const [at, state] of seen.entries())
        recording.add({ at, isWhole: true, put: [...state], gone: [] });
      for (const at of asked) {
        const expected = seen[Math.max(0, Math.min(at, seen.length - 1))] ?? new Map();
        t.strictSame(sorted(recording.stateAt(at)), sorted(expected));
      }
      t.strictSame(sorted(recording.now), sorted(seen.at(-1) ?? new Map()));
    }),
  );
});

t.test("a recording forgets from its beginning, and what is left is right", async (t) => {
  const recording = new Recording<number>(40);
  recording.add({ at: 0, isWhole: true, put: [["a", 0]], gone: [] });
  recording.stateAt(0);
  for (let at = 1; at <= 200; at++) {
    const change: Change<number> = { at, put: [["a", at]], gone: [] };
    recording.add(change);
  }
  const { from, to } = recording.span ?? { from: 0, to: 0 };
  t.equal(to, 200);
  t.ok(from > 100 && from < 200, `from ${from}`);
  for (const at of [from, from + 3, 200, from + 1]) t.equal(recording.stateAt(at).get("a"), at);
  t.equal(recording.stateAt(0).get("a"), from, "before it the oldest is shown");
});

t.test("a clock that goes back does not put states out of order", async (t) => {
  const recording = new Recording<number>();
  recording.add({ at: 10, isWhole: true, put: [["a", 1]], gone: [] });
  recording.add({ at: 5, put: [["a", 2]], gone: [] });
  t.strictSame(recording.span, { from: 10, to: 10 });
  t.equal(recording.stateAt(10).get("a"), 2);
});
