import t from "tap";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { KnownEntries } from "./known_entries.ts";

t.test(
  "an entry is as old as it has been known, and anew once it has another date or was away",
  async (t) => {
    const clock = testClock();
    const known = new KnownEntries(clock);
    const [first, second] = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"];
    const ageOf = (date: string, ...maps: (Record<string, string> | undefined)[]) =>
      known.ages("ns/budget", maps)({ name: "a", date });
    t.equal(ageOf(first, { a: first }), 0);
    await clock.advance(7_000);
    t.equal(ageOf(first, { a: first, b: second }, undefined), 7_000);
    t.equal(ageOf(second, { a: second }), 0, "another date");
    await clock.advance(1_000);
    t.equal(ageOf(second, undefined, { a: second }), 1_000);
    t.equal(ageOf(second), 0, "it is not there");
    t.equal(ageOf(second, { a: second }), 0, "and was away");
  },
);
