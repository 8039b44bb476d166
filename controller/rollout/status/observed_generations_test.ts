import fc from "fast-check";
import t from "tap";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { PendingPods } from "../writes/pending_pods.ts";
import { ObservedGenerations } from "./observed_generations.ts";

const uid = "uid-of-the-workload";

/** The same rule, read off the pods in flight of every pass. */
class EveryPass {
  #first: { generation: number; pods: Set<string> } | undefined;

  answered(pending: PendingPods): void {
    for (const pod of this.#first?.pods ?? []) if (!pending.has(pod)) this.#first?.pods.delete(pod);
  }

  isObserved(generation: number, pending: PendingPods): boolean {
    if (this.#first?.generation !== generation) this.#first = { generation, pods: new Set(pending.keys()) };
    return this.#first.pods.size === 0;
  }
}

const ids = fc.array(fc.nat({ max: 9 }), { maxLength: 6 });
const pass = fc.record({
  answered: ids,
  begun: ids,
  changed: fc.boolean(),
  isAnew: fc.constantFrom(false, false, false, true),
});

t.test("a generation is observed when the writes of its first plan are answered", async (t) => {
  fc.assert(
    fc.property(fc.array(pass, { maxLength: 30 }), (passes) => {
      const observed = new ObservedGenerations();
      const model = new EveryPass();
      let pending = new PendingPods();
      let generation = 1;
      for (const { answered, begun, changed, isAnew } of passes) {
        if (isAnew) pending = new PendingPods();
        for (const id of answered) pending.delete(`pod-${id}`);
        if (changed) generation++;
        observed.answered(uid, pending);
        model.answered(pending);
        for (const id of begun) pending.set(`pod-${id}`, barePod(`pod-${id}`));
        t.equal(observed.isObserved(uid, generation, pending), model.isObserved(generation, pending));
      }
    }),
    { seed: 25, numRuns: 2_000 },
  );
});

t.test("an answer to one of thousands of writes is looked at alone", async (t) => {
  let looked = 0;
  class Counted extends PendingPods {
    override has(id: string): boolean {
      looked++;
      return super.has(id);
    }
  }
  const pods = 20_000;
  const pending = new Counted();
  const observed = new ObservedGenerations();
  for (let pod = 0; pod < pods; pod++) pending.set(`pod-${pod}`, barePod(`pod-${pod}`));
  t.notOk(observed.isObserved(uid, 1, pending));
  for (let pod = 0; pod < pods; pod++) {
    pending.delete(`pod-${pod}`);
    observed.answered(uid, pending);
  }
  t.ok(observed.isObserved(uid, 1, pending));
  t.ok(looked <= 2 * pods, `${looked} looks`);
});
