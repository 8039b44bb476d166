import t from "tap";
import { type PodWords, pod } from "../../testkit/bench/pod_builder.ts";
import { workloadOf } from "./pod_board.ts";
import { Takeover } from "./takeover.ts";

const shards: Readonly<Record<string, number>> = { a: 0, b: 1, c: 2 };

function begun() {
  const time = { ms: 0 };
  const takeover = new Takeover({
    shardOf: (each) => shards[workloadOf(each) ?? ""],
    now: () => time.ms,
    pods: ["a", "b", "c"].map((name) => pod({ name, workload: name })),
  });
  const at = (ms: number, words: PodWords): void => {
    time.ms = ms;
    takeover.see({ type: "changed", object: pod({ workload: words.name ?? "", ...words }) });
  };
  const died = (ms: number, led: readonly number[]): void => {
    time.ms = ms;
    takeover.died(led);
  };
  return { takeover, at, died };
}

t.test("a shard is taken over when the longest time without a write ends", async (t) => {
  const { takeover, at, died } = begun();
  at(900, { name: "a", gateClosed: true });
  died(1_000, [0, 1]);
  at(1_010, { name: "a", gateClosed: true, image: "app:2" });
  at(5_000, { name: "c", gateClosed: true });
  at(17_000, { name: "b", gateClosed: true });
  at(18_000, { name: "a", image: "app:2" });
  at(18_500, { name: "b", image: "app:2" });
  t.same(takeover.facts(), {
    "death to first write of a successor, ms": 16_000,
    "death to first write in its last shard, ms": 17_000,
    "longest gap of writes to its pods, ms": 16_990,
    "longest gap of all writes, ms": 12_000,
  });
});

t.test("what a kubelet reports is no write of a successor", async (t) => {
  const { takeover, at, died } = begun();
  died(0, [0]);
  at(10, { name: "a", ready: false });
  at(20, { name: "a", ready: true, running: "app:0" });
  t.same(takeover.facts(), { "longest gap of all writes, ms": 0 });
});

t.test("nothing is told of a death that has not happened", async (t) => {
  const { takeover, at } = begun();
  at(10, { name: "a", gateClosed: true });
  t.same(takeover.facts(), {});
});
