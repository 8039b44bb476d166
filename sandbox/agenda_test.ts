import fc from "fast-check";
import t from "tap";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { type Agenda, createAgenda } from "./agenda.ts";

const noErrors = (error: unknown): void => {
  throw error;
};

t.test("keys come due in order of time; the earlier of two times wins", async (t) => {
  const key = fc.constantFrom("a", "b", "c", "d", "e", "f");
  const addition = fc.record({ key, after: fc.integer({ min: 0, max: 50 }) });
  fc.assert(
    fc.property(fc.array(addition, { maxLength: 40 }), (additions) => {
      const clock = testClock();
      const ran: { key: string; at: number }[] = [];
      const agenda = createAgenda({
        clock,
        onError: noErrors,
        run: (key) => {
          ran.push({ key, at: clock.monotonic() });
          return undefined;
        },
      });
      const earliest = new Map<string, number>();
      for (const { key, after } of additions) {
        agenda.add(key, after);
        earliest.set(key, Math.min(after, earliest.get(key) ?? after));
      }
      clock.skip(100);
      const expected = [...earliest].map(([key, at]) => ({ key, at }));
      const byKey = (left: { key: string }, right: { key: string }) => (left.key < right.key ? -1 : 1);
      t.same(ran.toSorted(byKey), expected.toSorted(byKey));
      t.same(
        ran.map(({ at }) => at),
        ran.map(({ at }) => at).toSorted((a, b) => a - b),
      );
      return agenda.size === 0 && clock.pending === 0;
    }),
    { seed: 11, numRuns: 200 },
  );
});

t.test("one timer of the clock serves all keys", async (t) => {
  const clock = testClock();
  const agenda = createAgenda({ clock, onError: noErrors, run: () => undefined });
  for (let index = 0; index < 1_000; index++) agenda.add(`k${index}`, 1_000 - index);
  t.equal(clock.pending, 1);
  agenda.stop();
  t.equal(clock.pending, 0);
});

t.test("failures are tried again, later each time", async (t) => {
  const clock = testClock();
  const at: number[] = [];
  const errors: unknown[] = [];
  const agenda = createAgenda({
    clock,
    onError: (error) => errors.push(error),
    run: () => {
      at.push(clock.monotonic());
      if (at.length < 4) throw new Error("not yet");
      return undefined;
    },
  });
  agenda.add("k");
  clock.skip(1_000);
  t.same(at, [0, 10, 30, 70]);
  t.equal(errors.length, 3);
});

t.test("a key whose work is under way is held back", async (t) => {
  const clock = testClock();
  let running = 0;
  let runs = 0;
  const finish: (() => void)[] = [];
  const agenda: Agenda = createAgenda({
    clock,
    onError: noErrors,
    run: async () => {
      running += 1;
      runs += 1;
      t.equal(running, 1);
      await new Promise<void>((resolve) => finish.push(resolve));
      running -= 1;
      return undefined;
    },
  });
  agenda.add("k");
  clock.skip(0);
  agenda.add("k");
  clock.skip(5);
  t.equal(runs, 1);
  finish.shift()?.();
  await new Promise((resolve) => setImmediate(resolve));
  clock.skip(5);
  t.equal(runs, 2);
  finish.shift()?.();
});
