/** As `classify_test.ts`, while many writes are under way. */
import fc from "fast-check";
import t from "tap";
import {
  happen,
  rolling,
  settleDaemons,
  slowStep,
  step,
} from "../../../testkit/controller/daemon_set_history.ts";
import { options, type Twin, twinOf } from "../../../testkit/controller/daemon_set_index_model.ts";
import { lateStep, takeLate } from "../../../testkit/controller/workload_history.ts";

/** What slow servers do to writes, and time; nothing waits for an answer. */
const burstStep = fc.oneof(
  { weight: 10, arbitrary: lateStep },
  { weight: 14, arbitrary: fc.oneof(slowStep, slowStep, step) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.constantFrom(500, 2500) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("vanish", "orphan"), pod: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("image" as const), tag: fc.constantFrom(1, 2) }) },
);
type BurstStep = typeof burstStep extends fc.Arbitrary<infer S> ? S : never;

function takeBurst(twin: Twin, one: BurstStep): void {
  const { model } = twin;
  const { generation } = model.set.metadata;
  if ("ms" in one) model.now += one.ms;
  else if ("pod" in one) {
    const name = [...model.pods.keys()][one.pod % Math.max(1, model.pods.size)] ?? "";
    if (one.do === "vanish") model.pods.delete(name);
    else model.change(name, { controller: undefined });
  } else if ("late" in one) takeLate(model.writes, one, (action) => twin.perform(action));
  else happen(twin, one);
  // What is not on its way to the server is withdrawn with the spec that wanted it.
  if (model.set.metadata.generation !== generation) model.writes.withdraw(3);
}

t.test("property: the same plans while many writes are under way", async (t) => {
  let plans = 0;
  let most = 0;
  fc.assert(
    fc.property(
      fc.array(burstStep, { minLength: 20, maxLength: 100 }),
      rolling,
      fc.record({ options, begun: fc.boolean() }),
      fc.nat(),
      (steps, first, { options, begun }, seed) => {
        const twin = twinOf(first, options, seed);
        const { writes } = twin.model;
        if (begun) settleDaemons(twin);
        for (const one of steps) {
          takeBurst(twin, one);
          most = Math.max(most, writes.size);
        }
        writes.arriveLate((action) => twin.perform(action));
        settleDaemons(twin);
        plans += twin.plans;
      },
    ),
    { seed: 20_261_121, numRuns: 700 },
  );
  t.ok(plans > 10_000, `${plans} plans`);
  t.ok(most >= 30, `${most} writes under way`);
});
