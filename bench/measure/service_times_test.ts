import t from "tap";
import { type PodWords, pod } from "../../testkit/bench/pod_builder.ts";
import { BudgetCheck } from "./budget_check.ts";
import { workloadOf } from "./pod_board.ts";
import { ServiceTimes } from "./service_times.ts";

function follow(names: readonly string[]) {
  const time = { ms: 1_000 };
  const all = names.map((name) => pod({ name }));
  const times = new ServiceTimes(() => time.ms, all);
  const check = new BudgetCheck({ replicas: names.length }, workloadOf, () => time.ms, all);
  const at = (ms: number, words: PodWords, type: "changed" | "removed" = "changed"): void => {
    time.ms = 1_000 + ms;
    for (const each of [times, check]) each.see({ type, object: pod(words) });
  };
  return { times, check, at };
}

t.test("a pod is out from its gate's closing until it is ready with its new image", async (t) => {
  const { times, check, at } = follow(["a", "b"]);
  at(100, { name: "a", ready: false, gateClosed: true });
  at(130, { name: "a", ready: false, gateClosed: true, image: "app:2", running: "app:1" });
  at(200, { name: "b", ready: false, gateClosed: true });
  at(290, { name: "b", ready: false, gateClosed: true, image: "app:2", running: "app:1" });
  at(400, { name: "a", ready: false, image: "app:2" });
  at(500, { name: "a", image: "app:2" });
  t.equal(check.unavailable, 1);
  at(800, { name: "b", image: "app:2" });
  t.match(times.clocks(), {
    outOfService: { source: "watch", count: 2, p50: 500, max: 600 },
    gateToImage: { source: "watch", count: 2, p50: 60, max: 90 },
  });
  t.equal(check.result().podSecondsOut, 1);
  t.equal(check.unavailable, 0);
});

t.test(
  "times out add up, new and vanished pods have none, and an image without a gate is no such time",
  async (t) => {
    const { times, check, at } = follow(["a", "b"]);
    at(0, { name: "a", ready: false });
    at(100, { name: "a" });
    at(200, { name: "a", image: "app:2", running: "app:1" });
    at(250, { name: "a", image: "app:2" });
    at(300, { name: "b", terminating: true });
    at(400, { name: "b", terminating: true }, "removed");
    at(400, { name: "c", ready: false });
    at(450, { name: "c" });
    t.match(times.clocks(), { outOfService: { count: 1, p50: 150 } });
    t.equal(times.clocks().gateToImage, undefined);
    t.equal(check.result().podSecondsOut, 0.3);
  },
);

t.test("nothing was out", async (t) => {
  const { times, at } = follow(["a"]);
  at(100, { name: "a" });
  t.same(times.clocks(), {});
});
