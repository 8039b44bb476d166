import fc from "fast-check";
import t from "tap";
import { reservedRanges, Window } from "./ordinals.ts";

t.test("the window skips reserved ordinals until it has its replicas", async (t) => {
  t.same([...new Window(2, 4, reservedRanges([1, 3]))], [2, 4, 5, 6]);
  t.same([...new Window(1, 4, reservedRanges([1, 3, 4]))], [2, 5, 6, 7]);
  t.same([...new Window(0, 3, reservedRanges([0, "2-5"]))], [1, 6, 7]);
  t.same([...new Window(0, 2, reservedRanges(["0003-005", "5-5"]))], [0, 1]);
  t.same([...new Window(0, 0, [])], []);
});

t.test("one entry that cannot be read makes the list empty", async (t) => {
  for (const entry of ["5-2", "a-b", "3", "-1-2"]) t.same(reservedRanges([1, entry]), [], entry);
});

t.test("a range of any size costs nothing", async (t) => {
  t.same([...new Window(0, 2, reservedRanges(["0-2000000000"]))], [2000000001, 2000000002]);
});

t.test("the window is what walking upward finds", async (t) => {
  const entry = fc.oneof(
    fc.integer({ min: 0, max: 12 }),
    fc
      .tuple(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 4 }))
      .map(([first, size]) => `${first}-${first + size}`),
  );
  const inputs = [fc.nat(5), fc.nat(8), fc.array(entry, { maxLength: 5 })] as const;
  fc.assert(
    fc.property(...inputs, (start, replicas, entries) => {
      const reserved = new Set<number>();
      for (const one of entries) {
        const [first = 0, last = first] = String(one).split("-").map(Number);
        for (let ordinal = first; ordinal <= last; ordinal++) reserved.add(ordinal);
      }
      const expected: number[] = [];
      for (let ordinal = start; expected.length < replicas; ordinal++)
        if (!reserved.has(ordinal)) expected.push(ordinal);
      const window = new Window(start, replicas, reservedRanges(entries));
      const found = [...window];
      for (let ordinal = 0; ordinal < 40; ordinal++) {
        const rank = expected.indexOf(ordinal);
        if (window.rankOf(ordinal) !== (rank < 0 ? undefined : rank)) throw new Error(`rank of ${ordinal}`);
      }
      if (found.join() !== expected.join()) throw new Error(`${found.join()}, expected ${expected.join()}`);
    }),
    { numRuns: 1000, seed: 3 },
  );
  t.pass("1000 windows");
});
