import t from "tap";
import { FailedPods } from "./failed_pods.ts";

t.test("the wait doubles from one second to fifteen minutes, and calm forgets", async (t) => {
  let now = 0;
  const failed = new FailedPods(() => now);
  t.equal(failed.waitMs("n1"), 0, "the first failure is replaced at once");
  failed.replaced("n1");
  t.equal(failed.waitMs("n1"), 1000);
  t.equal(failed.waitMs("n2"), 0, "each node by itself");
  now += 400;
  t.equal(failed.waitMs("n1"), 600);
  now += 600;
  for (const seconds of [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]) {
    t.equal(failed.waitMs("n1"), 0);
    failed.replaced("n1");
    t.equal(failed.waitMs("n1"), seconds * 1000);
    now += seconds * 1000;
  }
  now += 31 * 60 * 1000;
  failed.replaced("n1");
  t.equal(failed.waitMs("n1"), 1000);
});

t.test("a new generation begins anew", async (t) => {
  const failed = new FailedPods(() => 0);
  failed.observe(1);
  failed.replaced("n1");
  failed.observe(1);
  t.equal(failed.waitMs("n1"), 1000);
  failed.observe(2);
  t.equal(failed.waitMs("n1"), 0);
});
