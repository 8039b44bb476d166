import fc from "fast-check";
import t from "tap";
import { shareOf } from "../../../crds/index.ts";
import { type AllocatedChild, type AllocatedSubset, allocate } from "./allocation.ts";

function subset(name: string, parts: Partial<AllocatedSubset> = {}): AllocatedSubset {
  return { name, child: undefined, unschedulable: false, ...parts };
}

function child(replicas: number, parts: Partial<AllocatedChild> = {}): AllocatedChild {
  return { replicas, readyReplicas: replicas, reserved: 0, marked: false, ...parts };
}

function numbers(
  subsets: readonly AllocatedSubset[],
  total: number | undefined,
  mode: "byNumber" | "adaptive" | "reserved" = "byNumber",
) {
  const found = allocate(subsets, total, mode);
  return "problem" in found ? found.problem : found.replicas;
}

t.test("percentages are rounded half up", async (t) => {
  const cases: [string | number, number, number | undefined][] = [
    ["25%", 3, 1],
    ["25%", 1, 0],
    ["50%", 1, 1],
    ["+50%", 4, 2],
    ["15%", 10, 2],
    ["5%", 10, 1],
    ["0%", 10, 0],
    [4, 10, 4],
    ["4", 10, undefined],
    ["-1%", 10, undefined],
  ];
  for (const [value, total, expected] of cases)
    t.equal(shareOf(value, total), expected, `${value} of ${total}`);
});

// Spec uniteddeployment rules 16, 17; scenarios 1, 2, 3, 5.
t.test("specified numbers, and the rest", async (t) => {
  const open = ["a", "b", "c"].map((name) => subset(name));
  t.same(numbers(open, 5), [1, 2, 2]);
  const sized = [1, 4, 2, 2].map((replicas, index) => subset(`t${index + 1}`, { child: child(replicas) }));
  t.same(numbers(sized, 5), [1, 2, 1, 1]);
  t.same(numbers(sized, 17), [4, 5, 4, 4]);
  const classic = [subset("a", { replicas: 1 }), subset("b", { replicas: "50%" }), subset("c")];
  t.same(numbers(classic, 6), [1, 3, 2]);
  t.same(numbers(classic, 10), [1, 5, 4]);
  t.equal(numbers(classic, 1), "specified subsets' replica (2) is greater than UnitedDeployment replica (1)");
  const quarters = [subset("a", { replicas: "25%" }), subset("b", { replicas: "25%" }), subset("c")];
  t.same(
    [3, 4, 1].map((total) => numbers(quarters, total)),
    [
      [1, 1, 1],
      [1, 1, 2],
      [0, 0, 1],
    ],
  );
  const fixed = [subset("a", { replicas: 3 })];
  t.equal(numbers(fixed, 5), "specified subsets' replica (3) is less than UnitedDeployment replica (5)");
  t.same(numbers(fixed, undefined), [3]);
  t.match(numbers(classic, undefined), /all subsets must be specified/);
  t.equal(numbers([], 2), "specified subsets' replica (0) is less than UnitedDeployment replica (2)");
  t.same(numbers([], 0), []);
  const pair = (first: Partial<AllocatedSubset>) => [
    subset("a", { child: child(5), ...first }),
    subset("b", { child: child(5) }),
  ];
  t.same(numbers(pair({ replicas: 9 }), 10), [9, 1]);
  t.same(numbers(pair({ replicas: "40%" }), 10), [4, 6]);
});

// Rule 18; scenario 4.
t.test("floors and ceilings", async (t) => {
  const ranged = (...ranges: [number, number | undefined][]) =>
    ranges.map(([minReplicas, maxReplicas], index) => subset(`s${index}`, { minReplicas, maxReplicas }));
  t.same(numbers(ranged([2, 4], [2, undefined]), 5), [3, 2]);
  const five = ranged([2, 5], [2, 5], [2, 5], [2, 5], [2, undefined]);
  t.same(numbers(five, 14), [5, 3, 2, 2, 2]);
  t.same(numbers(five, 5), [2, 2, 1, 0, 0]);
  const three = ranged([1, 2], [1, 2], [1, undefined]);
  t.same(numbers(three, 3), [1, 1, 1]);
  t.same(numbers(three, 7), [2, 2, 3]);
  t.same(numbers(three, 1), [1, 0, 0]);
  t.equal(
    numbers(ranged([3, 2], [0, undefined]), 4),
    "subset[0].maxReplicas(2) must be more than or equal to minReplicas(3)",
  );
});

// Rule 19, the table; scenario 12.
t.test("subsets that are closed", async (t) => {
  const row = (
    sizes: number[],
    ready: number[],
    min: number,
    firstMax: number | undefined,
    closed: number[],
  ) =>
    sizes.map((size, index) =>
      subset(`s${index}`, {
        child: child(size, { readyReplicas: ready[index] ?? 0 }),
        minReplicas: index === 0 ? min : 0,
        maxReplicas: index === 0 ? firstMax : undefined,
        unschedulable: closed.includes(index),
      }),
    );
  t.same(numbers(row([5, 5], [0, 5], 3, undefined, [0]), 10, "adaptive"), [3, 7]);
  t.same(numbers(row([2, 2, 0, 0], [2, 0, 0, 0], 0, 2, [1]), 4, "adaptive"), [2, 0, 2, 0]);
  t.same(numbers(row([2, 0, 0, 2], [2, 0, 0, 2], 0, 2, []), 8, "adaptive"), [2, 4, 0, 2]);
  t.same(numbers(row([2, 0, 0, 6], [2, 0, 0, 6], 0, undefined, []), 4, "adaptive"), [2, 0, 0, 2]);
});

// Rule 20, the table; scenarios 14, 15.
t.test("pods that are kept where they are pending", async (t) => {
  const row = (mins: number[], maxes: (number | undefined)[], sizes: number[], reserved: (number | "m")[]) =>
    sizes.map((size, index) => {
      const count = reserved[index] ?? 0;
      return subset(`s${index}`, {
        minReplicas: mins[index],
        maxReplicas: maxes[index],
        child: child(size, { reserved: count === "m" ? 0 : count, marked: count === "m" }),
        unschedulable: count !== "m" && count > 0,
      });
    });
  const any = undefined;
  t.same(numbers(row([1, 1, 1, 1], [2, 2, 2, any], [2, 2, 2, 2], [0, 2, 2, 0]), 8, "reserved"), [2, 2, 2, 6]);
  t.same(
    numbers(row([2, 2, 2, 2], [4, 4, 4, any], [2, 2, 2, 6], [0, 1, 1, 0]), 16, "reserved"),
    [4, 2, 2, 10],
  );
  t.same(numbers(row([0, 0, 0], [], [2, 2, 0], [2, 2, 0]), 2, "reserved"), [2, 2, 2]);
  t.same(numbers(row([0, 0, 0], [], [2, 2, 4], ["m", 2, 0]), 4, "reserved"), [4, 2, 2]);
  t.same(numbers(row([1, 1, 0], [], [1, 1, 0], [1, 1, 0]), 2, "reserved"), [1, 1, 2]);
});

const count = fc.integer({ min: 0, max: 40 });
const anyChild = fc.option(
  fc.record({
    replicas: count,
    readyReplicas: fc.integer({ min: 0, max: 20 }),
    reserved: fc.constant(0),
    marked: fc.constant(false),
  }),
  { nil: undefined },
);

/** Subsets whose names differ. */
function subsetsOf(parts: fc.Arbitrary<Partial<AllocatedSubset>>): fc.Arbitrary<AllocatedSubset[]> {
  const one = fc.tuple(parts, anyChild, fc.boolean());
  return fc
    .array(one, { minLength: 1, maxLength: 8 })
    .map((all) =>
      all.map(([rest, held, unschedulable], i) => ({ name: `s${i}`, ...rest, child: held, unschedulable })),
    );
}

const open: fc.Arbitrary<Partial<AllocatedSubset>> = fc.constant({});
const specified: fc.Arbitrary<Partial<AllocatedSubset>> = fc.record(
  {
    replicas: fc.oneof(
      fc.integer({ min: 0, max: 12 }),
      fc.integer({ min: 0, max: 100 }).map((p) => `${p}%`),
    ),
  },
  { requiredKeys: [] },
);
/** The last one has no ceiling, as admission asks. */
const ranged = subsetsOf(
  fc.tuple(count, fc.option(count, { nil: undefined })).map(([minReplicas, more]) => ({
    minReplicas,
    maxReplicas: more === undefined ? more : minReplicas + more,
  })),
).map((all) =>
  all.map((each, index) => (index === all.length - 1 ? { ...each, maxReplicas: undefined } : each)),
);

const runs = { numRuns: 2000, seed: 43 };

function replicasOf(
  subsets: readonly AllocatedSubset[],
  total: number,
  mode: "byNumber" | "adaptive" | "reserved",
) {
  const found = allocate(subsets, total, mode);
  return "problem" in found ? undefined : found.replicas;
}

function sum(replicas: readonly number[]): number {
  return replicas.reduce((all, each) => all + each, 0);
}

t.test("the sum is the total, and what is specified is met exactly", async () => {
  fc.assert(
    fc.property(subsetsOf(specified), count, (subsets, total) => {
      const found = allocate(subsets, total, "byNumber");
      if ("problem" in found) {
        const shares = subsets.map(({ replicas }) => shareOf(replicas, total));
        const given = shares.reduce<number>((all, share) => all + (share ?? 0), 0);
        return given > total || (given < total && !shares.includes(undefined));
      }
      return (
        sum(found.replicas) === total &&
        subsets.every(({ replicas }, index) => {
          const share = shareOf(replicas, total);
          return share === undefined || share === found.replicas[index];
        })
      );
    }),
    runs,
  );
});

/** The subsets as they are once they have what they were given. */
function settled(subsets: readonly AllocatedSubset[], replicas: readonly number[]): AllocatedSubset[] {
  return subsets.map((each, index) => ({ ...each, child: child(replicas[index] ?? 0) }));
}

t.test("allocation is stable: what was given is given again", async () => {
  for (const subsets of [subsetsOf(specified), ranged]) {
    fc.assert(
      fc.property(subsets, count, (all, total) => {
        const first = replicasOf(all, total, "byNumber");
        if (first === undefined) return true;
        const again = replicasOf(settled(all, first), total, "byNumber");
        return again?.every((each, index) => each === first[index]);
      }),
      runs,
    );
  }
});

t.test("a larger total takes from no subset that has no share of it, one more pod moves one", async () => {
  for (const subsets of [subsetsOf(open), ranged]) {
    fc.assert(
      fc.property(subsets, count, (all, total) => {
        const small = replicasOf(all, total, "byNumber");
        if (small === undefined) return true;
        const large = replicasOf(settled(all, small), total + 1, "byNumber");
        if (large === undefined) return false;
        const moved = large.map((each, index) => each - (small[index] ?? 0));
        return moved.every((each) => each >= 0) && sum(moved) === 1;
      }),
      runs,
    );
  }
});

t.test("floors and ceilings hold, as far as the total reaches", async () => {
  fc.assert(
    fc.property(ranged, count, (subsets, total) => {
      const replicas = replicasOf(subsets, total, "byNumber") ?? [];
      const floors = sum(subsets.map(({ minReplicas }) => shareOf(minReplicas, total) ?? 0));
      const inRange = subsets.every(({ minReplicas, maxReplicas }, index) => {
        const given = replicas[index] ?? -1;
        const least = floors <= total ? (shareOf(minReplicas, total) ?? 0) : 0;
        return given >= least && given <= (shareOf(maxReplicas, total) ?? Infinity);
      });
      return inRange && sum(replicas) === total;
    }),
    runs,
  );
});

t.test(
  "adaptive: the total is met, ready pods stay while it reaches, closed subsets take nothing new",
  async () => {
    fc.assert(
      fc.property(subsetsOf(open), count, (subsets, total) => {
        const replicas = replicasOf(subsets, total, "adaptive") ?? [];
        const ready = subsets.map((each) => each.child?.readyReplicas ?? 0);
        const canTake = subsets.some(
          ({ unschedulable, child: held }) => !unschedulable || held === undefined,
        );
        const kept = sum(ready) > total || replicas.every((each, index) => each >= (ready[index] ?? 0));
        const closed = subsets.every(
          ({ unschedulable, child: held }, index) =>
            !unschedulable || held === undefined || (replicas[index] ?? 0) <= held.readyReplicas,
        );
        return kept && closed && (!canTake || sum(replicas) === total);
      }),
      runs,
    );
  },
);

t.test(
  "reserved: as many pods as the total are not reserved, and nobody loses what the total pays for",
  async () => {
    const subsets = ranged.chain((all) =>
      fc.tuple(...all.map((each) => fc.integer({ min: 0, max: each.child?.replicas ?? 0 }))).map((reserved) =>
        all.map((each, index) => {
          const held = each.child && { ...each.child, reserved: reserved[index] ?? 0 };
          return { ...each, child: held, unschedulable: (held?.reserved ?? 0) > 0 };
        }),
      ),
    );
    fc.assert(
      fc.property(subsets, count, (all, total) => {
        const replicas = replicasOf(all, total, "reserved") ?? [];
        const serving = replicas.map((each, index) => {
          const { child: held, unschedulable } = all[index] ?? subset("");
          return unschedulable && held !== undefined ? Math.min(each, held.replicas - held.reserved) : each;
        });
        const isOpen = all.some(
          ({ unschedulable, maxReplicas }) => !unschedulable && maxReplicas === undefined,
        );
        return isOpen ? sum(serving) === total : sum(serving) <= total;
      }),
      runs,
    );
  },
);

const modes = ["byNumber", "adaptive", "reserved"] as const;

/** As `/scale` leaves them, which no webhook sees: a floor of a percentage rises above a ceiling of a number. */
const anyRange = fc.record({
  minReplicas: fc.oneof(
    fc.integer({ min: 0, max: 6 }),
    fc.integer({ min: 0, max: 100 }).map((percent) => `${percent}%`),
  ),
  maxReplicas: fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined }),
});

t.test("a floor above the ceiling is the same problem in every mode, and no subset is changed", (t) => {
  let problems = 0;
  fc.assert(
    fc.property(subsetsOf(anyRange), fc.integer({ min: 0, max: 20 }), (subsets, total) => {
      const index = subsets.findIndex(
        ({ minReplicas, maxReplicas }) =>
          typeof maxReplicas === "number" && (shareOf(minReplicas, total) ?? 0) > maxReplicas,
      );
      const { minReplicas, maxReplicas } = subsets[index] ?? {};
      const problem = `subset[${index}].maxReplicas(${maxReplicas}) must be more than or equal to minReplicas(${shareOf(minReplicas, total)})`;
      for (const mode of modes) {
        const found = allocate(subsets, total, mode);
        t.equal("problem" in found ? found.problem : undefined, index < 0 ? undefined : problem, mode);
      }
      if (index >= 0) problems++;
    }),
    runs,
  );
  t.ok(problems > 300 && problems < 1_900, `${problems} problems`);
  t.end();
});

t.test("a floor is kept where pods are pending, too", (t) => {
  const full = (min: number) =>
    subset("full", { minReplicas: min, child: child(2, { reserved: 2 }), unschedulable: true });
  t.same(numbers([full(4), subset("other", { minReplicas: 7 })], 10, "reserved"), [4, 10]);
  const both = [full(6), { ...full(0), name: "next" }];
  t.same(numbers(both, 6, "reserved"), [6, 2]);
  t.end();
});
