import t from "tap";
import { type ClassCount, type CountOptions, limitsOf, numbersOf } from "./numbers.ts";

const plain: CountOptions = {
  rollback: false,
  excludePreparingDelete: false,
  preparingUpdateAsUpdate: false,
};
const none: ClassCount = { active: 0, preDeleting: 0, toDelete: 0, unavailable: 0, preparingUpdate: 0 };

/** `5o 1n!`: counts of old (o) and updated (n) pods; `!` unavailable, `x` to delete, `p` pre-deleting, `u` preparing update. */
function counts(text: string) {
  const classes = { old: { ...none }, updated: { ...none } };
  for (const [, number = "0", kind, marks = ""] of text.matchAll(/(\d+)([on])([!xpu]*)/g)) {
    const count = kind === "o" ? classes.old : classes.updated;
    const pods = Number(number);
    if (marks.includes("p")) {
      count.preDeleting += pods;
      continue;
    }
    count.active += pods;
    if (marks.includes("u")) count.preparingUpdate += pods;
    if (marks.includes("x")) count.toDelete += pods;
    else if (marks.includes("!") || marks.includes("u")) count.unavailable += pods;
  }
  return classes;
}

function limits(replicas: number, partition: number | string, maxUnavailable: number, maxSurge: number) {
  return limitsOf({ replicas, partition, maxUnavailable, maxSurge, paused: false, rolling: true });
}

// Spec cloneset 4.4, the table of vectors.
t.test("numbers of the specification", async (t) => {
  const cases: [string, Parameters<typeof limits>, string, Partial<CountOptions>, object][] = [
    ["a partition", [5, 3, 1, 0], "5o", {}, { update: 2, updateBudget: 1, missing: 0, surplus: 0 }],
    ["rollback by gate", [5, 4, 2, 0], "1o 4n", { rollback: true }, { update: -3, updateBudget: 2 }],
    ["no rollback without it", [5, 4, 2, 0], "1o 4n", {}, { update: 0 }],
    ["surge first", [5, 3, 1, 1], "5o", {}, { missing: 1, missingOld: 0 }],
    ["then one update", [5, 3, 1, 1], "5o 1n!", {}, { update: 1, updateBudget: 2, missing: 0, surplus: 0 }],
    [
      "then scale in an old one",
      [5, 3, 1, 1],
      "4o 2n!",
      {},
      { surplus: 1, surplusOld: 1, deleteReadyLimit: 0 },
    ],
    ["when ready", [5, 3, 1, 1], "4o 1n 1n!", {}, { surplus: 1, deleteReadyLimit: 1 }],
    ["surge for a deletion", [5, 3, 1, 1], "4o 1ox 1n!", {}, { surge: 1, deleteReadyLimit: 1, missing: 0 }],
    ["99% of five", [5, "99%", 3, 2], "5o 1n!", {}, { surplus: 1, surplusOld: 1, deleteReadyLimit: 3 }],
    ["no budget but surge", [5, 0, 0, 1], "4n 1nx", {}, { missing: 1, missingOld: 0 }],
    ["and when it is there", [5, 0, 0, 1], "5n 1nx", {}, { deleteReadyLimit: 1, surplus: 0 }],
    [
      "preparing update counts as new",
      [4, "90%", 1, 0],
      "2o 1ou",
      { preparingUpdateAsUpdate: true },
      { missing: 1, missingOld: 1 },
    ],
    [
      "pods held before deletion are excluded",
      [3, 0, 1, 0],
      "2n 1np",
      { excludePreparingDelete: true },
      { missing: 1 },
    ],
    ["or counted", [3, 0, 1, 0], "2n 1np", {}, { missing: 0 }],
  ];
  for (const [name, [n, p, u, s], pods, options, wanted] of cases) {
    t.match(
      numbersOf(limits(n, p, u, s), counts(pods), { ...plain, ...options }),
      wanted,
      `${name}: ${pods}`,
    );
  }
});

t.test("creation is limited by the unavailable", async (t) => {
  const six = limitsOf({
    replicas: 6,
    maxUnavailable: 1,
    paused: false,
    rolling: true,
    scaleMaxUnavailable: 2,
  });
  t.match(numbersOf(six, counts("2n 1n!"), plain), { missing: 3, createLimit: 1 });
  t.match(numbersOf(six, counts("1n 2n!"), plain), { missing: 3, createLimit: 0 });
});

t.test("limits", async (t) => {
  t.equal(limits(3, 0, 0, 0).maxUnavailable, 0);
  const twenty = (replicas: number, maxSurge: number) =>
    limitsOf({ replicas, maxUnavailable: "20%", maxSurge, paused: false, rolling: true }).maxUnavailable;
  t.equal(twenty(3, 0), 1, "rounded up without surge");
  t.equal(twenty(3, 1), 0, "rounded down with surge");
  t.equal(limits(4, "99%", 1, 0).partition, 3);
  t.equal(limits(5, "50%", 1, 0).partition, 3);
  t.equal(limits(5, "100%", 1, 0).partition, 5);
  const paused = limitsOf({ replicas: 5, maxUnavailable: 0, maxSurge: 3, paused: true, rolling: true });
  t.match(paused, { maxSurge: 0 });
  t.match(
    numbersOf(paused, counts("3o"), plain),
    { missing: 2, missingOld: 0, surge: 0 },
    "paused: no surge",
  );
  t.match(
    limitsOf({ replicas: 10, paused: false, rolling: false }),
    { maxUnavailable: 2, maxSurge: 0, partition: 0 },
    "OnDelete",
  );
});
