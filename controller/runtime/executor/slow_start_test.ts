import t from "tap";
import { slowStart } from "./slow_start.ts";

t.test("batches of 1, 2, 4, …, each begun when the one before has ended", async (t) => {
  const underWay = new Set<number>();
  const batches: number[][] = [];
  const write = async (item: number) => {
    if (underWay.size === 0) batches.push([]);
    underWay.add(item);
    batches.at(-1)?.push(item);
    await new Promise((resolve) => setImmediate(resolve));
    underWay.delete(item);
  };
  t.same(await slowStart([1, 2, 3, 4, 5, 6, 7, 8, 9], write), { succeeded: 9, failure: undefined });
  t.same(batches, [[1], [2, 3], [4, 5, 6, 7], [8, 9]]);
});

t.test("nothing is begun after a failure; what was under way counts", async (t) => {
  const begun: number[] = [];
  const write = async (item: number) => {
    begun.push(item);
    if (item === 2) throw new Error("refused");
  };
  t.match(await slowStart([1, 2, 3, 4, 5], write), {
    succeeded: 2,
    failure: { error: { message: "refused" } },
  });
  t.same(begun, [1, 2, 3]);
});
