/** Writes that arrive late and in any order: what the server holds at any moment stays within the strategy's limits. */
import fc from "fast-check";
import t from "tap";
import { cloneSet, defaultOptions, Model, Refused } from "../../../testkit/controller/clone_set_model.ts";
import { isPodWrite, LateWrites } from "../../../testkit/controller/late_writes_model.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import type { Action } from "../../rollout/writes/actions.ts";
import { planCloneSet } from "./plan.ts";
import type { CloneSetObserved } from "./state.ts";
import { cloneSetState } from "./state.ts";
import { cloneSetStrategyOf } from "./strategy.ts";

/** Actions that are sent and not answered; plans see their pods as they will be. */
class Late {
  readonly #writes = new LateWrites();
  readonly #model: Model;

  constructor(model: Model) {
    this.#model = model;
  }

  observed(): CloneSetObserved {
    return this.#model.observed(this.#model.index(this.#writes.pods));
  }

  send(action: Action): void {
    if (isPodWrite(action)) this.#writes.begin(action, this.#model.now);
    else this.#model.perform(action);
  }

  /** The server carries out one of them; a refusal is an answer, too. */
  arrive(which: number): void {
    this.#writes.answer(which, (action) => {
      try {
        this.#model.perform(action);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
      }
    });
  }
}

const moment = fc.record({
  do: fc.constantFrom("plan", "arrive", "arrive", "kubelet", "kubelet"),
  which: fc.nat(30),
});

t.test(
  "never more pods than replicas and maxSurge, never fewer than maxUnavailable allows, in whatever order writes arrive",
  async (t) => {
    let fullest = 0;
    fc.assert(
      fc.property(
        fc.record({
          maxSurge: fc.integer({ min: 0, max: 3 }),
          maxUnavailable: fc.integer({ min: 0, max: 2 }),
        }),
        fc.constantFrom("ReCreate", "InPlaceIfPossible"),
        fc.array(moment, { minLength: 100, maxLength: 300 }),
        (limits, podUpdatePolicy, moments) => {
          let seed = 1;
          const random = () => {
            seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
            return seed / 2 ** 32;
          };
          const rollingUpdate = { ...limits, podUpdatePolicy };
          const model = new Model(
            cloneSet("app", { updateStrategy: { type: "RollingUpdate", rollingUpdate } }),
          );
          const late = new Late(model);
          const { replicas, maxSurge, maxUnavailable } = cloneSetStrategyOf(model.set, defaultOptions).limits;
          let changed = false;
          for (const { do: what, which } of moments) {
            model.now += 50;
            if (what === "plan") {
              const { actions, status } = planCloneSet(
                cloneSetState({
                  observed: late.observed(),
                  options: defaultOptions,
                  now: model.now,
                  random,
                }),
              );
              for (const action of actions) late.send(action);
              model.set = { ...model.set, status };
            } else if (what === "arrive") {
              const before = model.available();
              late.arrive(which);
              const available = model.available();
              if (available < before && available < replicas - maxUnavailable)
                throw new Error(
                  `a write left ${available} available of ${replicas}, ${maxUnavailable} may be missing`,
                );
            } else {
              const names = [...model.pods.keys()];
              const name = names[which % Math.max(1, names.length)];
              if (name !== undefined) model.kubelet(name);
            }
            if (!changed && model.available() === replicas) {
              changed = true;
              model.changeSpec((spec) => {
                for (const container of spec.template.spec.containers) {
                  container.image = "app:2";
                  container.env = [{ name: "A", value: "2" }];
                }
              });
            }
            const present = model.owned().filter(isActive).length;
            fullest = Math.max(fullest, present - replicas);
            if (present > replicas + maxSurge)
              throw new Error(`${present} pods of ${replicas} and ${maxSurge} more`);
          }
        },
      ),
      { numRuns: 400, seed: 14 },
    );
    t.equal(fullest, 3, "the surge was used to its end");
  },
);
