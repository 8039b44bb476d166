import t from "tap";
import { seededRandom } from "../kube/index.ts";
import { pod } from "../testkit/bench/pod_builder.ts";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { FailureDraw } from "./failures.ts";

const names = Array.from({ length: 2_000 }, (_, index) => `p${index}`);

t.test("containers that end are drawn once for each pod and image, from the seed", async (t) => {
  const crashed = (seed: number): string[] => {
    const draw = new FailureDraw({ crash: 0.05, pull: 0 }, seededRandom(seed), testClock());
    return names.filter((name) => draw.crashOf(pod({ name })) !== undefined);
  };
  const found = crashed(1);
  t.ok(found.length > 60 && found.length < 140, `about 5 % of 2,000: ${found.length}`);
  t.same(crashed(1), found, "the same seed, the same pods");
  t.not(JSON.stringify(crashed(2)), JSON.stringify(found));
  const draw = new FailureDraw({ crash: 1, pull: 0 }, seededRandom(1), testClock());
  t.equal(draw.crashOf(pod({ name: "a", ready: false })), undefined, "not before it is ready");
  t.match(draw.crashOf(pod({ name: "a" })), { container: "main" });
  t.equal(draw.crashOf(pod({ name: "a" })), undefined, "once");
  t.match(
    draw.crashOf(pod({ name: "a", image: "app:2" })),
    { container: "main" },
    "another image, another draw",
  );
});

t.test("pulls fail for a while", async (t) => {
  const clock = testClock();
  const draw = new FailureDraw({ crash: 0, pull: 1 }, seededRandom(1), clock);
  const object = pod({ name: "a" });
  t.equal(draw.pullFails(object, "app:1"), true);
  clock.skip(5_000);
  t.equal(draw.pullFails(object, "app:1"), false);
  const never = new FailureDraw({ crash: 0, pull: 0 }, seededRandom(1), clock);
  t.equal(never.pullFails(object, "app:1"), false);
});
