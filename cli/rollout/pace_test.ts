import fc from "fast-check";
import t from "tap";
import { type Pace, paced, remainingMs } from "./pace.ts";

const walk = (samples: readonly (readonly [number, number])[]): Pace =>
  samples.reduce<Pace | undefined>((pace, [at, done]) => paced(pace, { at, done }), undefined) ?? {
    first: { at: 0, done: 0 },
    newest: { at: 0, done: 0 },
  };

t.test("the rest takes as long for each pod as the others took", (t) => {
  t.equal(
    remainingMs(
      walk([
        [0, 0],
        [10_000, 5],
      ]),
      10,
      10_000,
    ),
    10_000,
  );
  t.equal(
    remainingMs(
      walk([
        [0, 0],
        [10_000, 5],
      ]),
      10,
      14_000,
    ),
    6_000,
    "time that has passed since counts",
  );
  t.equal(remainingMs(walk([[0, 3]]), 10, 5_000), undefined, "nothing has got on yet");
  t.equal(
    remainingMs(
      walk([
        [0, 0],
        [10_000, 5],
      ]),
      10,
      80_000,
    ),
    undefined,
    "it stands still",
  );
  t.equal(
    remainingMs(
      walk([
        [0, 8],
        [5_000, 0],
        [7_000, 2],
      ]),
      4,
      7_000,
    ),
    2_000,
    "another rollout began",
  );
  t.end();
});

t.test("whatever is seen, no forecast is negative, and all done is 0", (t) => {
  const samples = fc.array(fc.tuple(fc.nat(1_000), fc.nat(20)), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(samples, fc.nat(1_000), (steps, later) => {
      let at = 0;
      const seen = steps.map(([ms, done]) => {
        at += ms;
        return [at, done] as const;
      });
      const pace = walk(seen);
      const left = remainingMs(pace, pace.newest.done, at + later);
      const more = remainingMs(pace, 20, at + later);
      return (left === undefined || left === 0) && (more === undefined || more >= 0);
    }),
    { numRuns: 2_000 },
  );
  t.end();
});
