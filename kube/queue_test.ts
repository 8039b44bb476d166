import t from "tap";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { seededRandom } from "./core/random.ts";
import { KubeError } from "./errors.ts";
import { type QueueObserver, WorkQueue } from "./queue.ts";

t.test("a key is queued once, and once more when it was added while it ran", async (t) => {
  const queue = new WorkQueue({ clock: testClock() });
  queue.add("a");
  queue.add("a");
  t.equal(queue.depth, 1);
  t.equal(await queue.next(), "a");
  queue.add("a");
  queue.add("a");
  t.equal(queue.depth, 0, "held back while it runs");
  queue.done("a");
  t.equal(queue.depth, 1);
  t.equal(await queue.next(), "a");
  queue.done("a");
  t.equal(queue.depth, 0);
});

t.test("waiting workers are served in turn, and let go when the queue stops", async (t) => {
  const queue = new WorkQueue({ clock: testClock() });
  const got = [queue.next(), queue.next(), queue.next()];
  queue.add("a");
  queue.add("b");
  t.equal(await got[0], "a");
  t.equal(await got[1], "b");
  queue.stop();
  t.equal(await got[2], undefined);
  queue.add("c");
  t.equal(await queue.next(), undefined);
});

t.test("of several delays the earliest wins, and work due now ends the wait", async (t) => {
  const clock = testClock();
  const queue = new WorkQueue({ clock });
  queue.addAfter("a", 1000);
  queue.addAfter("a", 200);
  queue.addAfter("a", 5000);
  await clock.advance(199);
  t.equal(queue.depth, 0);
  await clock.advance(1);
  t.equal(queue.depth, 1);
  t.equal(queue.delayed, 0);
  queue.addAfter("b", 1000);
  queue.add("b");
  t.equal(queue.delayed, 0);
  t.equal(queue.depth, 2);
});

t.test("backoff doubles to its bound and starts over after forget", async (t) => {
  const queue = new WorkQueue({ clock: testClock(), baseDelayMs: 5, maxDelayMs: 30 });
  t.same(
    [1, 2, 3, 4, 5].map(() => queue.addBackoff("a")),
    [5, 10, 20, 30, 30],
  );
  queue.forget("a");
  t.equal(queue.addBackoff("a"), 5);
  const busy = new KubeError("TooManyRequests", "later", { retryAfterMs: 700 });
  t.equal(queue.addBackoff("b", busy), 700, "a Retry-After is a lower bound");
});

t.test("a server that was away long is not waited for long, and then refusals count from one", async (t) => {
  const queue = new WorkQueue({ clock: testClock(), baseDelayMs: 500, maxDelayMs: 1_000_000 });
  const away = new KubeError("Network", "connection refused");
  const delays = Array.from({ length: 100 }, () => queue.addBackoff("a", away));
  t.same(delays.slice(0, 5), [500, 1000, 2000, 4000, 5000]);
  t.equal(delays.at(-1), 5000);
  t.equal(queue.addBackoff("a", new KubeError("Forbidden", "not yet")), 500);
});

t.test("the retry bucket bounds all keys together", async (t) => {
  const queue = new WorkQueue({ clock: testClock(), retryBucket: { perSecond: 10, size: 2 } });
  t.equal(queue.addBackoff("a"), 5);
  t.equal(queue.addBackoff("b"), 5);
  t.equal(queue.addBackoff("c"), 100);
  t.equal(queue.addBackoff("d"), 200);
});

t.test("high goes first, lower priorities are not starved", async (t) => {
  const queue = new WorkQueue({ clock: testClock() });
  for (let i = 0; i < 100; i++) queue.add(`high-${i}`, "high");
  queue.add("normal", "normal");
  queue.add("low", "low");
  const taken: string[] = [];
  for (let i = 0; i < 40; i++) taken.push((await queue.next()) ?? "");
  t.equal(taken[0], "high-0");
  t.ok(taken.indexOf("normal") > 10 && taken.indexOf("normal") < 40);
  t.ok(taken.indexOf("low") > 10 && taken.indexOf("low") < 40);
});

t.test("a key added with a higher priority moves up", async (t) => {
  const queue = new WorkQueue({ clock: testClock() });
  queue.add("a", "low");
  queue.add("b", "normal");
  queue.add("a", "high");
  t.equal(queue.depth, 2);
  t.equal(await queue.next(), "a");
  t.equal(await queue.next(), "b");
});

t.test("the observer hears depth, waits and durations", async (t) => {
  const clock = testClock();
  const heard: string[] = [];
  const observer: QueueObserver = {
    added: (depth) => heard.push(`added ${depth}`),
    retried: () => heard.push("retried"),
    started: (depth, waited) => heard.push(`started ${depth} ${waited}`),
    finished: (took) => heard.push(`finished ${took}`),
  };
  const queue = new WorkQueue({ clock, observer });
  queue.add("a");
  await clock.advance(30);
  await queue.next();
  await clock.advance(12);
  queue.done("a");
  t.same(heard, ["added 1", "started 0 30", "finished 12"]);
});

/**
 * Invariants under random use: a key never runs twice at once; every add is followed by a run that starts after it;
 * nothing runs that was not added; a delayed key never runs before its earliest time unless it was added meanwhile.
 */
t.test("property: no key is lost, none runs twice at once", async (t) => {
  for (let seed = 1; seed <= 60; seed++) {
    const failure = await randomUse(seed);
    t.equal(failure, undefined, `seed ${seed}`);
  }
});

async function randomUse(seed: number): Promise<string | undefined> {
  const random = seededRandom(seed);
  const pick = <E>(list: readonly E[]): E | undefined => list[Math.floor(random() * list.length)];
  const clock = testClock();
  const queue = new WorkQueue({ clock, baseDelayMs: 5, maxDelayMs: 500 });
  const keys = ["a", "b", "c", "d", "e"];
  const running = new Set<string>();
  const owed = new Map<string, number>();
  const takeAll = async (): Promise<string | undefined> => {
    while (queue.depth > 0) {
      const key = await queue.next();
      if (key === undefined) return "undefined from a queue that is not stopped";
      if (running.has(key)) return `${key} runs twice`;
      const due = owed.get(key);
      if (due === undefined) return `${key} was not added`;
      if (due > clock.monotonic()) return `${key} runs at ${clock.monotonic()}, due ${due}`;
      owed.delete(key);
      running.add(key);
      if (random() < 0.3) return undefined;
    }
    return undefined;
  };
  for (let turn = 0; turn < 120; turn++) {
    const key = pick(keys) ?? "a";
    const choice = random();
    if (choice < 0.3) {
      queue.add(key, pick(["high", "normal", "low"]) ?? "normal");
      owed.set(key, clock.monotonic());
    } else if (choice < 0.5) {
      const ms = 1 + Math.floor(random() * 50);
      queue.addAfter(key, ms);
      owed.set(key, Math.min(owed.get(key) ?? Number.POSITIVE_INFINITY, clock.monotonic() + ms));
    } else if (choice < 0.8) {
      const done = pick([...running]);
      if (done === undefined) continue;
      running.delete(done);
      queue.done(done);
    } else {
      const step = Math.floor(random() * 30);
      for (let ms = 0; ms < step; ms++) clock.skip(1);
    }
    const failure = await takeAll();
    if (failure !== undefined) return failure;
  }
  for (let drained = 0; drained < 50 && (owed.size > 0 || running.size > 0); drained++) {
    for (const key of [...running]) {
      running.delete(key);
      queue.done(key);
    }
    for (let ms = 0; ms < 60; ms++) clock.skip(1);
    const failure = await takeAll();
    if (failure !== undefined) return failure;
  }
  return owed.size > 0 ? `lost: ${[...owed.keys()].join(", ")}` : undefined;
}
