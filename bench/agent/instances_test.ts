import fc from "fast-check";
import t from "tap";
import { doubles, handovers, type Instance, longestIncomplete } from "./instances.ts";

const instance = (name: string, attempt: number, startedAt: number, finishedAt = Infinity): Instance => ({
  name,
  attempt,
  createdAt: startedAt - 4,
  startedAt,
  finishedAt,
});

t.test("a change has its time without a running instance, and where it went", (t) => {
  const seen = [instance("app", 0, 0, 100), instance("app", 1, 130), instance("web", 0, 0)];
  t.same(handovers(seen), [{ name: "app", gapMs: 30, createMs: 26, startMs: 4 }]);
  t.end();
});

t.test("two at a time are named; one that was only created counts for nothing", (t) => {
  const created = { ...instance("app", 3, 0), startedAt: Infinity };
  t.same(doubles([instance("app", 0, 0, 100), instance("app", 1, 100, 200), created]), []);
  t.same(doubles([instance("app", 0, 0, 100), instance("app", 1, 99)]), ["app 0 1"]);
  t.end();
});

t.test("a pod of two is incomplete from the first end to the last start", (t) => {
  const seen = [
    instance("a", 0, 0, 100),
    instance("a", 1, 180),
    instance("b", 0, 0, 150),
    instance("b", 1, 300),
  ];
  t.equal(longestIncomplete(seen, 50), 200);
  t.equal(longestIncomplete(seen, 120), 150);
  t.equal(longestIncomplete(seen, 400), 0);
  t.end();
});

t.test("one after the other never overlap, and no gap is longer than the pod's", (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(50), fc.integer({ min: 1, max: 50 })), { minLength: 1 }),
      (steps) => {
        let now = 0;
        const seen = steps.map(([gap, life], attempt) => {
          const startedAt = now + gap;
          now = startedAt + life;
          return instance("app", attempt, startedAt, now);
        });
        const gaps = handovers(seen).map((one) => one.gapMs);
        return doubles(seen).length === 0 && longestIncomplete(seen, 0) === Math.max(0, ...gaps);
      },
    ),
    { seed: 5 },
  );
  t.end();
});
