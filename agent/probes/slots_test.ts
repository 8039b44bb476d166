import fc from "fast-check";
import t from "tap";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { Slots } from "./slots.ts";

const never = new AbortController().signal;

t.test("never more at once than slots, all get theirs, in order", async () => {
  const durations = fc.array(fc.integer({ min: 0, max: 9_000 }), { minLength: 1, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(durations, fc.integer({ min: 1, max: 5 }), async (list, count) => {
      const clock = testClock();
      const slots = new Slots(clock, count);
      let running = 0;
      let most = 0;
      const begun: number[] = [];
      const all = list.map((ms, index) =>
        slots.use(async () => {
          begun.push(index);
          most = Math.max(most, ++running);
          await clock.sleep(ms);
          running--;
        }, never),
      );
      await clock.advance(list.length * 9_000 + 1);
      await Promise.all(all);
      return most <= count && begun.every((one, index) => one === index);
    }),
  );
});

t.test("one that hangs holds its slot for a while only", async (t) => {
  const clock = testClock();
  const slots = new Slots(clock, 1);
  const abort = new AbortController();
  const hung = slots.use(() => clock.sleep(3_600_000, abort.signal), never);
  let others = 0;
  const work = async (): Promise<void> => {
    others++;
  };
  const waiting = [slots.use(work, never), slots.use(work, never)];
  await clock.advance(9_000);
  t.equal(others, 0);
  await clock.advance(2_000);
  await Promise.all(waiting);
  t.equal(others, 2);
  abort.abort(new Error("over"));
  await t.rejects(hung, /over/);
  // It gave its slot back long ago: there is still one, not two.
  let running = 0;
  const two = [0, 1].map(() =>
    slots.use(async () => {
      t.equal(++running, 1);
      await clock.sleep(10);
      running--;
    }, never),
  );
  await clock.advance(100);
  await Promise.all(two);
});

t.test("who gives up waiting leaves the queue", async (t) => {
  const clock = testClock();
  const slots = new Slots(clock, 1);
  const first = slots.use(() => clock.sleep(1_000), never);
  const abort = new AbortController();
  const second = slots.use(async () => t.fail("it was given up"), abort.signal);
  const third = slots.use(async () => "third", never);
  abort.abort(new Error("no longer wanted"));
  await t.rejects(second, /no longer wanted/);
  await clock.advance(1_001);
  await first;
  t.equal(await third, "third");
});
