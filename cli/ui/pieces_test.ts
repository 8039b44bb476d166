/** A whole state that comes in pieces is the one that was sent, or nothing: never a part of it. */
import { array, assert as check, integer, nat, property, record } from "fast-check";
import t from "tap";
import { applyChange, type Change } from "./shared/differences.ts";
import { Assembly, type Piece, piecesOf } from "./shared/pieces.ts";
import { Recording } from "./shared/recording.ts";

/** Items of a piece. */
const most = 5;
const isMany = (item: number): boolean => item >= 0;
const sorted = (state: ReadonlyMap<string, number>) => [...state].sort(([a], [b]) => (a < b ? -1 : 1));

/** `few`: items that are not many, `many`: of those that are. Their keys overlap from state to state. */
const states = record({ few: nat(3), many: nat(3 * most), salt: nat(5) }).map(({ few, many, salt }) => {
  const entries = Array.from({ length: many }, (_, index) => [`pod/${index * 2 + salt}`, salt] as const);
  const others = Array.from({ length: few }, (_, index) => [`other/${index}`, -1 - salt] as const);
  // Those that are few stand in the middle, so that their order changes.
  return new Map([...entries.slice(0, many / 2), ...others, ...entries.slice(many / 2)]);
});

const whole = (at: number, state: ReadonlyMap<string, number>): Change<number> => ({
  at,
  isWhole: true,
  put: [...state],
  gone: [],
});

function taken(assembly: Assembly<number>, pieces: readonly Piece<number>[]): Change<number>[] {
  return pieces.flatMap((piece) => assembly.take(piece) ?? []);
}

t.test("pieces put together are the state, each is bounded, and the first has what is few", async (t) => {
  check(
    property(states, (state) => {
      const pieces = piecesOf(whole(1, state), isMany, most);
      const [change, ...more] = taken(new Assembly<number>(), pieces);
      t.strictSame(more, []);
      t.strictSame(change && { ...change, put: sorted(new Map(change.put)) }, {
        ...whole(1, state),
        put: sorted(state),
      });
      for (const { put } of pieces) t.ok(put.length <= most);
      const few = [...state].filter(([, item]) => !isMany(item));
      t.strictSame(
        pieces[0]?.put.filter(([, item]) => !isMany(item)),
        few,
      );
    }),
  );
});

t.test("what says how many are missing is right", async (t) => {
  check(
    property(states, (state) => {
      const assembly = new Assembly<number>();
      for (const piece of piecesOf(whole(1, state), isMany, most)) {
        assembly.take(piece);
        const { unfinished } = assembly;
        if (unfinished !== undefined) t.equal(unfinished.items.size + unfinished.rest, state.size);
      }
      t.equal(assembly.unfinished, undefined);
    }),
  );
});

t.test("a state that breaks off changes nothing, and the next one takes its place", async (t) => {
  const streams = array(record({ state: states, cut: nat(3) }), { minLength: 1, maxLength: 4 });
  check(
    property(streams, states, integer({ min: 0, max: 3 }), (seen, last, changed) => {
      const recording = new Recording<number>();
      const assembly = new Assembly<number>();
      let expected: ReadonlyMap<string, number> = new Map();
      for (const [at, { state, cut }] of seen.entries()) {
        const pieces = piecesOf(whole(at, state), isMany, most);
        const arrived = pieces.slice(0, cut);
        for (const change of taken(assembly, arrived)) recording.add(change);
        if (arrived.length === pieces.length) expected = state;
        t.strictSame(sorted(recording.now), sorted(expected));
      }
      const after = new Map(last);
      const difference: Change<number> = { at: 10, put: [["new", changed]], gone: ["pod/0"] };
      applyChange(after, difference);
      for (const piece of [...piecesOf(whole(9, last), isMany, most), difference])
        for (const change of taken(assembly, [piece])) recording.add(change);
      t.strictSame(sorted(recording.now), sorted(after));
      t.strictSame(sorted(recording.stateAt(9)), sorted(last));
    }),
  );
});

t.test("a difference is never cut", async (t) => {
  const put = Array.from({ length: 20 }, (_, index) => [`pod/${index}`, 1] as const);
  const change: Change<number> = { at: 1, put, gone: [] };
  t.strictSame(piecesOf(change, isMany, most), [change]);
});
