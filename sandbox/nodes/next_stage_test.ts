import t from "tap";
import { seededRandom } from "../../kube/core/index.ts";
import { draw } from "./next_stage.ts";

t.test("delays lie in their range, with a long tail where asked", async (t) => {
  const drawn = (shape: "uniform" | "tail"): number[] => {
    const random = seededRandom(4);
    return Array.from({ length: 4_000 }, () => draw({ from: 100, to: 1_100, shape }, random)).sort(
      (a, b) => a - b,
    );
  };
  for (const shape of ["uniform", "tail"] as const) {
    const values = drawn(shape);
    t.ok((values[0] ?? 0) >= 100 && (values.at(-1) ?? 0) <= 1_100, `${shape}: within`);
    t.same(drawn(shape), values, "the same seed, the same delays");
  }
  const median = (shape: "uniform" | "tail"): number => drawn(shape)[2_000] ?? 0;
  t.ok(Math.abs(median("uniform") - 600) < 40, "half-way");
  t.ok(Math.abs(median("tail") - 162) < 15, "near the beginning");
  t.ok((drawn("tail")[3_960] ?? 0) > 1_000, "one in a hundred near the end");
  t.equal(draw({ from: 5, to: 5 }, seededRandom(1)), 5);
});
