/** As `classify_test.ts`, while most nodes change at once. */
import fc from "fast-check";
import t from "tap";
import {
  rolling,
  settleDaemons,
  slowStep,
  step,
  take,
} from "../../../testkit/controller/daemon_set_history.ts";
import { options, type Twin, twinOf } from "../../../testkit/controller/daemon_set_index_model.ts";
import { plainNode } from "../../../testkit/controller/projection_builder.ts";

const masses = fc.record({ many: fc.constantFrom("pods lost", "nodes join", "nodes leave") });
type Masses = typeof masses extends fc.Arbitrary<infer M> ? M : never;

function takeMasses({ model }: Twin, what: Masses["many"]): void {
  // Names between those that are there, before and behind them.
  const joining = Array.from({ length: 20 }, (_, index) => `${["a", "n1", "z"][index % 3]}${index}`);
  if (what === "pods lost") for (const { name } of model.owned()) model.pods.delete(name);
  else if (what === "nodes leave") for (const name of joining) model.nodes.delete(name);
  else for (const name of joining) if (!model.nodes.has(name)) model.nodes.set(name, plainNode(name));
}

t.test("property: the same plans while many nodes are missing their pod", async (t) => {
  let plans = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 6, arbitrary: fc.oneof(slowStep, step) }, masses), {
        minLength: 20,
        maxLength: 80,
      }),
      rolling,
      fc.record({ options, begun: fc.boolean() }),
      fc.nat(),
      (steps, first, { options, begun }, seed) => {
        const twin = twinOf(first, { ...options, nodes: 30 }, seed);
        if (begun) settleDaemons(twin);
        for (const one of steps) {
          if ("many" in one) takeMasses(twin, one.many);
          else take(twin, one);
        }
        settleDaemons(twin);
        plans += twin.plans;
      },
    ),
    { seed: 20_261_121, numRuns: 300 },
  );
  t.ok(plans > 5000, `${plans} plans`);
});
