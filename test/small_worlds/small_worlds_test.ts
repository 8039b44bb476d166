/** Small worlds of all kinds that have some, and how they are explored. */
import t from "tap";
import { explore, exploreAwaiting, type SmallWorld, WentWrong } from "../../testkit/small_worlds/explore.ts";
import { type NamedWorld, smallWorlds } from "../../testkit/small_worlds/scenarios.ts";

/** Of the other worlds, which are larger, the states next to the start are looked at. */
const isRollout = ({ name }: NamedWorld): boolean => /^(CloneSet|StatefulSet|DaemonSet) /.test(name);
/** Each of their moves asks the real code from the start again. */
const isSlow = ({ name }: NamedWorld): boolean =>
  /^(WorkloadSpread|ResourceDistribution|ContainerRecreateRequest|PersistentPodState) /.test(name);

t.test("three pods without a mishap: every order of events ends as it should", async (t) => {
  for (const one of smallWorlds(3, 0)) {
    if (!isRollout(one)) continue;
    const { states, isWhole } = await exploreAwaiting(one.world);
    t.ok(isWhole && states > 10, `${one.name}: ${states} states`);
  }
});

t.test("two pods, or nodes, of a large world without a mishap: nothing goes wrong", async (t) => {
  for (const one of smallWorlds(2, 0)) {
    if (isRollout(one)) continue;
    const most = isSlow(one) ? 150 : 1000;
    const { states, isWhole } = await exploreAwaiting(one.world, most);
    t.ok(isWhole || states >= most, `${one.name}: ${states} states`);
  }
});

t.test("two pods and a mishap: nothing goes wrong in the states next to the start", async (t) => {
  for (const one of smallWorlds(2, 1)) {
    const most = isRollout(one) ? 1500 : isSlow(one) ? 75 : 300;
    const { states, isWhole } = await exploreAwaiting(one.world, most);
    t.ok(isWhole || states >= most, `${one.name}: ${states} states`);
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

t.test("what is awaited is explored as everything else, and only by who awaits", async (t) => {
  const awaited = (world: SmallWorld<number>): SmallWorld<number> => ({
    ...world,
    movesOf: (at) => world.movesOf(at).map(({ name, take }) => ({ name, take: async () => take() })),
  });
  const world = numbers({ 0: [1, 2], 1: [3], 2: [3] }, 3);
  t.strictSame(await exploreAwaiting(awaited(world)), explore(world));
  const circle = numbers({ 0: [1, 2], 1: [2], 2: [3], 3: [1, 4] }, 4);
  await t.rejects(
    exploreAwaiting(awaited(circle)),
    /^it may go on for ever\n {2}to 1\n {2}and round and round:/,
  );
  const broken = {
    ...world,
    movesOf: () => [{ name: "break", take: () => Promise.reject(new Error("no")) }],
  };
  await t.rejects(exploreAwaiting(broken), new WentWrong("no\n  break"));
  t.throws(() => explore(awaited(world)), /a move of this world is awaited/);
});

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
