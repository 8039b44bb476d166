import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { type MigrationState, nextOfReturn, nextOfTakeover, type Step } from "./plan.ts";

const options = { replacesAgents: true };
const before: MigrationState = {
  phase: undefined,
  manager: { program: "former", replicas: 2 },
  formerReplicas: 2,
  managerPods: 2,
  leaseHeld: true,
  agents: "former",
  storedAsBefore: true,
  serving: true,
};
const after: MigrationState = {
  phase: "installed",
  manager: { program: "refit", replicas: 2 },
  formerReplicas: 2,
  managerPods: 2,
  leaseHeld: true,
  agents: "refit",
  storedAsBefore: false,
  serving: true,
};

/** What a step does, in parts: between any two of them the process may be killed. */
const effects: Readonly<Record<Step, readonly ((state: MigrationState) => MigrationState)[]>> = {
  "record what is there": [(state) => state, (state) => ({ ...state, phase: "recorded" })],
  "turn round": [(state) => ({ ...state, phase: "recorded" })],
  "stop the manager": [
    (state) => ({ ...state, manager: state.manager && { ...state.manager, replicas: 0 }, serving: false }),
  ],
  "wait until the manager is gone": [
    (state) => ({ ...state, managerPods: 0 }),
    (state) => ({ ...state, leaseHeld: false }),
  ],
  "remove the manager": [(state) => ({ ...state, manager: undefined })],
  "remove the agents": [(state) => ({ ...state, agents: undefined })],
  install: [
    (state) => ({ ...state, storedAsBefore: false }),
    (state) => ({ ...state, manager: { program: "refit", replicas: 2 } }),
    (state) => ({ ...state, managerPods: 2, agents: "refit" }),
    (state) => ({ ...state, phase: "installed" }),
  ],
  "wait until it leads": [(state) => ({ ...state, leaseHeld: true, serving: true })],
  "begin to go back": [(state) => ({ ...state, phase: "returning" })],
  "store in former versions": [(state) => state, (state) => ({ ...state, storedAsBefore: true })],
  "put back what was there": [
    (state) => ({ ...state, agents: "former" }),
    (state) => ({ ...state, manager: { program: "former", replicas: 2 } }),
  ],
  "forget the record": [
    (state) => ({ ...state, phase: undefined, managerPods: 2, leaseHeld: true, serving: true }),
  ],
};

type Next = (state: MigrationState) => ReturnType<typeof nextOfReturn>;
const forth: Next = (state) => nextOfTakeover(state, options);
const mostSteps = 20;

/** Runs to the end, or is killed after so many parts of steps. */
function run(start: MigrationState, next: Next, parts = Number.POSITIVE_INFINITY) {
  let state = start;
  let left = parts;
  const steps: Step[] = [];
  for (;;) {
    const step = next(state);
    if (step === undefined) return { state, steps };
    if (typeof step !== "string") return { state, steps, refused: step.refused };
    if (steps.push(step) > mostSteps) throw new Error(`no end: ${steps.join(", ")}`);
    for (const effect of effects[step]) {
      if (left-- <= 0) return { state, steps };
      // Two that reconcile never run at a time.
      if (step === "install") assert.ok(state.manager?.program === "refit" || !state.leaseHeld);
      state = effect(state);
    }
  }
}

t.test("a takeover in one go, and the way back", async (t) => {
  const taken = run(before, forth);
  t.same(taken, {
    state: after,
    steps: [
      "record what is there",
      "stop the manager",
      "wait until the manager is gone",
      "remove the manager",
      "remove the agents",
      "install",
      "wait until it leads",
    ],
  });
  t.same(run(taken.state, nextOfReturn).state, before);
  t.same(run(after, forth).steps, [], "a second run does nothing");
  t.same(run(before, nextOfReturn).steps, []);
});

t.test(
  "killed anywhere, any number of times, in either direction: the last run ends in the same state",
  async () => {
    const kill = fc.record({ back: fc.boolean(), parts: fc.nat({ max: 14 }) });
    fc.assert(
      fc.property(fc.array(kill, { maxLength: 6 }), fc.boolean(), (kills, back) => {
        let state = before;
        for (const { back, parts } of kills) state = run(state, back ? nextOfReturn : forth, parts).state;
        const end = run(state, back ? nextOfReturn : forth);
        assert.deepEqual(end.state, back ? before : after);
        assert.equal(end.refused, undefined);
      }),
      { seed: 165, numRuns: 2_000 },
    );
  },
);

t.test("former agents stay where none are given in their place", async (t) => {
  const { steps, state } = run(
    { ...before, phase: "recorded", manager: undefined, managerPods: 0, leaseHeld: false },
    (state) => (state.phase === "installed" ? undefined : nextOfTakeover(state, { replacesAgents: false })),
  );
  t.same(steps, ["install"]);
  t.equal(state.phase, "installed");
});

t.test("what cannot be is refused with the reason", async (t) => {
  t.match(forth({ ...before, manager: undefined }), { refused: /no Deployment kruise-controller-manager/ });
  t.match(forth({ ...after, phase: undefined }), { refused: /Refit runs here already/ });
  t.match(nextOfReturn({ ...after, phase: undefined }), { refused: /no ConfigMap refit-migration/ });
});
