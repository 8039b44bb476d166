/** The check must be able to fail: each rule is broken once, and once only nearly. */
import t from "tap";
import { type PodWords, pod } from "../../testkit/bench/pod_builder.ts";
import { BudgetCheck, type BudgetRules } from "./budget_check.ts";
import { workloadOf } from "./pod_board.ts";

const names = Array.from({ length: 10 }, (_, index) => `p${index}`);

function checkOf(rules: Partial<BudgetRules>) {
  const time = { ms: 0 };
  const all = names.map((name) => pod({ name }));
  const check = new BudgetCheck({ replicas: 10, ...rules }, workloadOf, () => time.ms, all);
  const change = (words: PodWords): void => check.see({ type: "changed", object: pod(words) });
  return { check, change, time, violations: () => check.result().violations };
}

t.test("too many gates closed at once are a violation", async (t) => {
  const { change, check, violations } = checkOf({ maxUnavailable: 2 });
  change({ name: "p0", ready: false, gateClosed: true });
  change({ name: "p1", ready: false, gateClosed: true });
  t.equal(violations(), 0, "two are allowed");
  change({ name: "p0", ready: true });
  change({ name: "p2", ready: false, gateClosed: true });
  t.equal(violations(), 0, "one came back before the next");
  change({ name: "p3", ready: false, gateClosed: true });
  t.equal(violations(), 1);
  t.match(check.result(), { maxUnavailable: 2, mostUnavailable: 3 });
  t.match(check.result().examples[0], /w had 3 pods unavailable, 2 are allowed/);
});

t.test("deletions and changed images count as well, each workload by itself", async (t) => {
  const { change, check, violations } = checkOf({ maxUnavailable: 1 });
  change({ name: "p0", terminating: true });
  t.equal(violations(), 0);
  change({ name: "p1", ready: false, image: "app:2", running: "app:1" });
  t.equal(violations(), 1);
  const other = new BudgetCheck({ replicas: 1, maxUnavailable: 1 }, workloadOf, () => 0, [
    pod({ name: "a", workload: "one" }),
    pod({ name: "b", workload: "two" }),
  ]);
  other.see({ type: "changed", object: pod({ name: "a", workload: "one", terminating: true }) });
  other.see({ type: "changed", object: pod({ name: "b", workload: "two", terminating: true }) });
  t.equal(other.result().violations, 0, "two workloads have a budget each");
  check.see({ type: "removed", object: pod({ name: "p0", terminating: true }) });
  t.equal(check.result().mostUnavailable, 2, "a pod that is gone is still missing");
});

t.test(
  "a pod counts as out from the change of its spec on, before its node has stopped anything",
  async (t) => {
    const { change, violations } = checkOf({ maxUnavailable: 1 });
    change({ name: "p0", image: "app:2", running: "app:1" });
    t.equal(violations(), 0);
    change({ name: "p1", image: "app:2", running: "app:1" });
    t.equal(violations(), 1);
    change({ name: "p0", image: "app:2" });
    change({ name: "p1", image: "app:2" });
    change({ name: "p2", image: "app:2", running: "app:1" });
    t.equal(violations(), 1, "the first two are back");
  },
);

t.test("what fails by itself is held against the manager only when it could know", async (t) => {
  const { change, time, violations } = checkOf({ maxUnavailable: 2 });
  change({ name: "p0", ready: false });
  change({ name: "p1", ready: false });
  change({ name: "p2", ready: false });
  t.equal(violations(), 0, "nodes may fail more than the budget");
  change({ name: "p3", ready: false, gateClosed: true });
  t.equal(violations(), 0, "nobody could have heard of the failures yet");
  time.ms = 5_000;
  change({ name: "p4", ready: false, gateClosed: true });
  t.equal(violations(), 1, "by now it knew that four were down");
});

t.test("a pod too many and an update past the partition are violations", async (t) => {
  const many = checkOf({ maxPods: 10 });
  many.check.see({ type: "added", object: pod({ name: "p10", ready: false }) });
  t.equal(many.violations(), 1);
  many.change({ name: "p10", ready: true });
  t.equal(many.violations(), 1, "reported once");
  const replaced = checkOf({ maxPods: 10 });
  replaced.change({ name: "p0", terminating: true });
  replaced.check.see({ type: "added", object: pod({ name: "p10", ready: false }) });
  t.equal(replaced.violations(), 0, "pods on their way out do not count");
  const partition = checkOf({ maxUpdated: { image: "app:2", most: 1 } });
  partition.change({ name: "p0", image: "app:2" });
  partition.change({ name: "p0", image: "app:2" });
  t.equal(partition.violations(), 0);
  partition.change({ name: "p1", image: "app:2" });
  t.equal(partition.violations(), 1);
});
