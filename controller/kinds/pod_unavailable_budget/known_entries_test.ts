import t from "tap";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { KnownEntries } from "./known_entries.ts";

const counts = {
  observedGeneration: 1,
  unavailableAllowed: 0,
  currentAvailable: 4,
  desiredAvailable: 3,
  totalReplicas: 4,
};

t.test(
  "an entry is as old as it has been known, and anew once it has another date or was away",
  async (t) => {
    const clock = testClock();
    const known = new KnownEntries(clock);
    const [first, second] = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"];
    const ageOf = (date: string, status?: object) =>
      known.ages(
        "ns/budget",
        status === undefined ? undefined : { ...counts, ...status },
      )({ name: "a", date });
    t.equal(ageOf(first, { disruptedPods: { a: first } }), 0);
    await clock.advance(7_000);
    t.equal(ageOf(first, { disruptedPods: { a: first, b: second } }), 7_000);
    t.equal(ageOf(second, { disruptedPods: { a: second } }), 0, "another date");
    await clock.advance(1_000);
    t.equal(ageOf(second, { unavailablePods: { a: second } }), 1_000);
    t.equal(ageOf(second), 0, "it is not there");
    t.equal(ageOf(second, { disruptedPods: { a: second } }), 0, "and was away");
  },
);
