import t from "tap";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { parentGone } from "./parent_gone.ts";

t.test("a process whose parent ends is told, and one that init started is not", async (t) => {
  const clock = testClock();
  const { signal } = new AbortController();
  let parent = 12;
  let told = false;
  const gone = parentGone(() => parent, clock, signal).then(() => {
    told = true;
  });
  await clock.advance(5_000);
  t.notOk(told);
  parent = 1;
  await clock.advance(1_000);
  await gone;
  t.ok(told);
  void parentGone(() => 1, clock, signal).then(() => t.fail("it has no parent that could end"));
  await clock.advance(60_000);
});
