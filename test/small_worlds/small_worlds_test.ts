/** Small worlds of rollouts, and whether a wrong one is found. */
import t from "tap";
import type { CloneSet } from "../../crds/index.ts";
import { cloneSetScenarios } from "../../testkit/small_worlds/clone_sets.ts";
import { explore, type SmallWorld, WentWrong } from "../../testkit/small_worlds/explore.ts";
import { rolloutWorld, type Scenario } from "../../testkit/small_worlds/rollout_world.ts";
import { smallWorlds } from "../../testkit/small_worlds/scenarios.ts";

t.test("three pods without a mishap: every order of events ends as it should", async (t) => {
  for (const { name, world } of smallWorlds(3, 0)) {
    const { states, isWhole } = explore(world);
    t.ok(isWhole && states > 10, `${name}: ${states} states`);
  }
});

t.test("two pods and a mishap: nothing goes wrong in the states next to the start", async (t) => {
  for (const { name, world } of smallWorlds(2, 1)) {
    const { states } = explore(world, 1500);
    t.ok(states > 1000, `${name}: ${states} states`);
  }
});

/** A small world of numbers. */
function numbers(moves: Readonly<Record<number, readonly number[]>>, end: number): SmallWorld<number> {
  return {
    start: 0,
    keyOf: String,
    movesOf: (at) => (moves[at] ?? []).map((to) => ({ name: `to ${to}`, take: () => to })),
    unsettled: (at) => (at === end ? undefined : `${at}`),
  };
}

t.test("an exploration counts states, moves and ends", async (t) => {
  t.strictSame(explore(numbers({ 0: [1, 2], 1: [3], 2: [3] }, 3)), {
    states: 4,
    moves: 4,
    isWhole: true,
    ends: 1,
  });
  t.match(explore(numbers({ 0: [1, 2], 1: [3], 2: [3] }, 3), 2), { isWhole: false });
});

t.test("an exploration tells the shortest way to a wrong end", async (t) => {
  const go = () => explore(numbers({ 0: [1, 2], 1: [3], 2: [4], 4: [5] }, 3));
  t.throws(go, new WentWrong("it ends with 5\n  to 2\n  to 4\n  to 5"));
});

t.test("an exploration tells of a circle, and how it is reached", async (t) => {
  const go = () => explore(numbers({ 0: [1, 2], 1: [2], 2: [3], 3: [1, 4] }, 4));
  t.throws(go, /^it may go on for ever\n {2}to 1\n {2}and round and round:\n {2}to 2\n {2}to 3\n {2}to 1$/);
});

t.test("a mishap is no way out of a circle, and no end follows from it alone", async (t) => {
  const world = numbers({ 0: [1] }, 1);
  const withMishap: SmallWorld<number> = {
    ...world,
    movesOf: (at) => [
      ...world.movesOf(at),
      ...(at === 1 ? [{ name: "a mishap", isMishap: true as const, take: () => 0 }] : []),
    ],
  };
  t.strictSame(explore(withMishap), { states: 2, moves: 2, isWhole: true, ends: 1 });
});

type Planned = ReturnType<Scenario<CloneSet>["kind"]["plan"]>;
type Action = Planned["actions"][number];
type PodAction = Extract<Action, { after: unknown }>;

/** The first scenario, with plans that somebody got wrong. */
function broken(change: (plan: Planned) => Planned, name = "CloneSet in place"): () => unknown {
  const scenario = cloneSetScenarios(3, 0).find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  const { kind } = scenario;
  const plan = kind.plan.bind(kind);
  return () =>
    explore(rolloutWorld({ ...scenario, kind: { ...kind, plan: (...all) => change(plan(...all)) } }, 0));
}

const without = (isOne: (action: PodAction) => boolean) => (plan: Planned) => ({
  ...plan,
  actions: plan.actions.filter((action) => !("after" in action) || !isOne(action)),
});

t.test("plans that are wrong are found", async (t) => {
  const neverBack = without((action) => action.type === "patch pod" && action.lane === "finish");
  t.throws(broken(neverBack), /it ends with/, "a gate that is never opened");

  const twice = (plan: Planned) => ({
    ...plan,
    actions: plan.actions.flatMap((action): Action[] =>
      action.type === "patch pod" ? [action, action] : [action],
    ),
  });
  t.throws(broken(twice), /is written twice/, "two writes of one pod at a time");

  const more = (plan: Planned) => ({
    ...plan,
    actions: plan.actions.flatMap((action): Action[] => {
      if (action.type !== "create pod") return [action];
      const after = { ...action.after, name: `${action.after.name}x`, uid: `${action.after.uid}x` };
      return [action, { ...action, id: `${action.id}x`, after }];
    }),
  });
  t.throws(broken(more, "CloneSet with a surge"), /there are 5 pods, 4 may be/, "one more than the surge");

  const restless = (plan: Planned) => ({ ...plan, status: { ...plan.status, observedGeneration: 1 } });
  t.throws(broken(restless), /it ends with a status of generation 1/, "a status that is never true");
});
