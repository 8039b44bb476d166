/** Where values are on a plot, which of them are named, and what the grid shows of numbers of pods. */
import t from "tap";
import {
  amountWords,
  cornersOf,
  placeAt,
  pointAt,
  roundTicks,
  scaleTicks,
  shareOf,
  stacked,
} from "../page/plot_scale.ts";
import { podsAt } from "../page/pods_at.ts";
import type { Plot } from "../shared/plots.ts";

t.test("round values are named", async (t) => {
  t.strictSame(roundTicks(0, 8.8, 6), [0, 2, 4, 6, 8]);
  t.strictSame(roundTicks(0.21, 0.39, 6), [0.25, 0.3, 0.35]);
  t.strictSame(roundTicks(3, 3, 6), [3]);
  t.strictSame(scaleTicks(183, true), [0, 50, 100, 150, 200]);
  t.strictSame(scaleTicks(1, true), [0, 1], "there is no half of a pod");
  t.strictSame(scaleTicks(0, true), [0, 1]);
  t.strictSame(scaleTicks(0.3, false), [0, 0.1, 0.2, 0.3]);
});

t.test("a place and its value lead to each other", async (t) => {
  for (const form of ["linear", "log"] as const) {
    const axis = { form, from: 10, to: 1_000 };
    for (const value of [10, 100, 700, 1_000])
      t.ok(Math.abs(placeAt(axis, shareOf(axis, value)) - value) < 1e-9);
  }
  t.equal(shareOf({ form: "log", from: 10, to: 1_000 }, 100), 0.5);
  t.equal(shareOf({ form: "linear", from: 3, to: 3 }, 3), 0.5, "an axis of one value");
});

t.test("a value holds until the next one, and areas stand on each other", async (t) => {
  t.strictSame(
    cornersOf(
      [
        [0, 1],
        [2, 5],
      ],
      9,
    ),
    [
      [0, 1],
      [2, 1],
      [2, 5],
      [9, 5],
    ],
  );
  t.strictSame(
    [-1, 0, 1.9, 2, 7].map((place) =>
      pointAt(
        [
          [0, 1],
          [2, 5],
        ],
        place,
      ),
    ),
    [-1, 0, 0, 1, 1],
  );
  t.strictSame(stacked([[[0, 1]], [[0, 2]], [[0, 4]]]), [[[0, 1]], [[0, 3]], [[0, 7]]]);
});

t.test("amounts in words", async (t) => {
  t.strictSame(
    [amountWords(1, 0, "pods"), amountWords(12, 0, "pods"), amountWords(1, 2, "s"), amountWords(1, 0, "s")],
    ["1 pod", "12 pods", "1.00 s", "1 s"],
  );
});

const plotOf = (...counts: readonly (readonly number[])[]): Plot => ({
  title: "Pods",
  x: { label: "", from: 0, to: 9, form: "linear", unit: "s", digits: 0 },
  left: { label: "pods", most: 1, isWhole: true },
  series: counts.map((values, index) => ({
    label: `band ${index}`,
    form: "area",
    hue: index === 0 ? 0 : "faint",
    unit: "pods",
    digits: 0,
    state: "ready",
    points: values.map((value, at) => [at, value]),
  })),
});

t.test(
  "the grid has a cell a pod, or one for some of them, and one for whatever is there at all",
  async (t) => {
    const few = podsAt(plotOf([0, 2], [3, 1]), 1.5);
    t.strictSame(
      few.cells.map(({ pod }) => [pod.name, pod.revision]),
      [
        ["band 0", "0"],
        ["band 0", "0"],
        ["band 1", "faint"],
      ],
    );
    const many = podsAt(plotOf([9_999, 1], [1, 9_999]), 0);
    t.equal(many.podsPerCell, 5);
    t.equal(many.cells.length, 2_001, "a single pod of many is seen");
  },
);
