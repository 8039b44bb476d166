import fc from "fast-check";
import t from "tap";
import { testClock } from "../testkit/kube/fake_clock.ts";
import type { Priority } from "./client_types.ts";
import { seededRandom } from "./core/random.ts";
import { createWindow, type WindowSlot } from "./window.ts";
import {
  type Aim,
  aims,
  ladder,
  limitOf,
  type Sample,
  stepWindowSize,
  type WindowSize,
  windowSizeAt,
} from "./window_size.ts";

const seed = 20_261_122;

/** Latency of a server that works on `capacity` requests at a time and takes `baseMs` for each. */
function serverLatency(size: number, capacity: number, baseMs: number): number {
  return baseMs * Math.max(1, size / capacity);
}

function run(state: WindowSize, answers: number, latency: (size: number) => number): WindowSize {
  let next = state;
  for (let i = 0; i < answers; i++) {
    next = stepWindowSize(next, { type: "answer", latencyMs: latency(limitOf(next)), full: true });
  }
  return next;
}

/** Sizes in use while `answers` more arrive. */
function sizesDuring(state: WindowSize, answers: number, latency: (size: number) => number): number[] {
  const sizes: number[] = [];
  let next = state;
  for (let i = 0; i < answers; i++) {
    next = stepWindowSize(next, { type: "answer", latencyMs: latency(limitOf(next)), full: true });
    sizes.push(limitOf(next));
  }
  return sizes;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

t.test("it starts at 8 and grows to what the server works on at a time, not far beyond", async (t) => {
  for (const aim of aims) {
    for (const capacity of [6, 16, 40]) {
      const settled = run(windowSizeAt(aim, 8), 10_000, (size) => serverLatency(size, capacity, 10));
      const mean = meanOf(sizesDuring(settled, 5_000, (size) => serverLatency(size, capacity, 10)));
      const text = `${aim}, capacity ${capacity}: ${mean.toFixed(1)} in flight`;
      t.ok(mean >= capacity * 0.7 && mean <= capacity * 1.4, text);
    }
    t.equal(limitOf(windowSizeAt(aim, 8)), 8);
  }
});

/** Of a measured server: 282/s at 1, 400 at 8, 533 at 16, 506 at 64. Each answer 0.6 to 1.4 of that. */
function kneeLatency(): (size: number) => number {
  const points: [number, number][] = [
    [1, 282],
    [8, 400],
    [16, 533],
    [32, 530],
    [64, 506],
  ];
  const rate = (size: number): number => {
    const above = points.findIndex(([at]) => at >= size);
    const [x1, y1] = points[Math.max(0, above)] ?? [64, 506];
    const [x0, y0] = points[Math.max(0, above - 1)] ?? [1, 282];
    return x1 === x0 ? y1 : y0 + ((y1 - y0) * (size - x0)) / (x1 - x0);
  };
  const random = seededRandom(seed);
  return (size) => (size / rate(size)) * 1000 * (0.6 + 0.8 * random());
}

t.test(
  "for throughput it finds the knee of a measured server, for latency it stays where the server is busy",
  async (t) => {
    const mean = (aim: Aim): number => {
      const latency = kneeLatency();
      return meanOf(sizesDuring(run(windowSizeAt(aim, 8), 4_000, latency), 8_000, latency));
    };
    const wide = mean("throughput");
    t.ok(wide > 11 && wide < 25, `for throughput ${wide.toFixed(1)}`);
    const narrow = mean("latency");
    t.ok(narrow < 5, `for latency ${narrow.toFixed(1)}`);
  },
);

t.test("when the server slows down it shrinks, when it recovers it grows again", async (t) => {
  const fast = run(windowSizeAt("throughput", 8), 10_000, (size) => serverLatency(size, 32, 10));
  t.ok(limitOf(fast) >= 24, `fast: ${limitOf(fast)}`);
  const slow = run(fast, 20_000, (size) => serverLatency(size, 6, 10));
  t.ok(limitOf(slow) <= 10, `slow: ${limitOf(slow)}`);
  const again = run(slow, 20_000, (size) => serverLatency(size, 32, 10));
  t.ok(limitOf(again) >= 24, `again: ${limitOf(again)}`);
});

t.test("a window that is not used up does not move", async (t) => {
  let state = windowSizeAt("throughput", 8);
  for (let i = 0; i < 5_000; i++)
    state = stepWindowSize(state, { type: "answer", latencyMs: 1, full: i % 4 === 0 });
  t.equal(limitOf(state), 8);
});

t.test("a burst of refusals counts once, a later one again", async (t) => {
  let state = windowSizeAt("throughput", 32);
  for (let i = 0; i < 32; i++) state = stepWindowSize(state, { type: "refused" });
  t.equal(limitOf(state), 16);
  state = stepWindowSize(state, { type: "refused" });
  t.equal(limitOf(state), 8);
});

t.test(
  "property: before a server that refuses what is too much, it stays close to that and is seldom refused",
  async (t) => {
    const server = fc.record({
      aim: fc.constantFrom(...aims),
      capacity: fc.integer({ min: 5, max: 50 }),
      chance: fc.integer(),
      latencyMs: fc.integer({ min: 20, max: 300 }),
    });
    fc.assert(
      fc.property(server, ({ aim, capacity, chance, latencyMs }) => {
        const random = seededRandom(chance);
        let state = windowSizeAt(aim, 8);
        let refused = 0;
        const next = (): number => {
          const size = limitOf(state);
          const isRefused = size * random() > capacity;
          if (isRefused) refused++;
          const answer = { type: "answer", latencyMs: latencyMs * (1 + 0.2 * random()), full: true } as const;
          state = stepWindowSize(state, isRefused ? { type: "refused" } : answer);
          return size;
        };
        for (let i = 0; i < 2_000; i++) next();
        refused = 0;
        const sizes = Array.from({ length: 6_000 }, next);
        const most = Math.max(...ladder.filter((size) => size <= capacity));
        return meanOf(sizes) > 0.9 * most && refused / sizes.length < 0.003;
      }),
      { seed, numRuns: 100 },
    );
    t.pass("held in all runs");
  },
);

t.test("property: always on the ladder; a refusal never lets it grow, and halves it", async (t) => {
  const sample = fc.oneof(
    {
      weight: 20,
      arbitrary: fc.record({
        type: fc.constant("answer" as const),
        latencyMs: fc.double({ min: 0, max: 1e5, noNaN: true }),
        full: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("refused" as const) }) },
  );
  fc.assert(
    fc.property(
      fc.array(sample, { maxLength: 800 }),
      fc.integer({ min: 1, max: 100 }),
      (samples: Sample[], start) => {
        let state = windowSizeAt("throughput", start);
        for (const each of samples) {
          const before = limitOf(state);
          const calm = state.calm > 0;
          state = stepWindowSize(state, each);
          const after = limitOf(state);
          if (!ladder.includes(after)) return false;
          if (each.type === "refused" && after > (calm ? before : Math.max(4, before / 2))) return false;
          if (Math.abs(ladder.indexOf(after) - ladder.indexOf(before)) > 2 && each.type === "answer")
            return false;
        }
        return true;
      },
    ),
    { seed, numRuns: 200 },
  );
  t.pass("held in all runs");
});

/** Enters `count` waiters and notes the order in which they get in. */
function acquireAll(
  window: ReturnType<typeof createWindow>,
  waiters: readonly [Priority, string][],
): { order: string[]; slots: WindowSlot[] } {
  const order: string[] = [];
  const slots: WindowSlot[] = [];
  for (const [priority, flow] of waiters) {
    window.acquire(priority, flow).then(
      (slot) => {
        order.push(`${priority} ${flow}`);
        slots.push(slot);
      },
      () => order.push(`${priority} ${flow} failed`),
    );
  }
  return { order, slots };
}

t.test("slots go by priority, round robin over flows, and low is not starved", async (t) => {
  const clock = testClock();
  const window = createWindow({ clock, start: 4 });
  const first = acquireAll(window, [
    ["normal", "x"],
    ["normal", "x"],
    ["normal", "x"],
    ["normal", "x"],
  ]);
  await clock.settle();
  t.equal(window.inFlight, 4);
  const rest = acquireAll(window, [
    ["low", "e"],
    ["normal", "a"],
    ["normal", "a"],
    ["normal", "b"],
    ["high", "h"],
  ]);
  for (let i = 0; i < 4; i++) first.slots[i]?.release("answered");
  await clock.settle();
  t.same(rest.order, ["high h", "normal a", "normal b", "normal a"]);
  const many = acquireAll(
    window,
    Array.from({ length: 40 }, (): [Priority, string] => ["high", "h"]),
  );
  for (let i = 0; i < 30; i++) {
    rest.slots.shift()?.release("answered");
    await clock.settle();
    rest.slots.push(...many.slots.splice(0));
  }
  t.ok(rest.order.includes("low e"), "a low one got in while high ones waited");
});

t.test("what takes pods out waits until all that brings pods back is in, a status does not", async (t) => {
  const clock = testClock();
  const window = createWindow({ clock, start: 4 });
  const first = acquireAll(
    window,
    Array.from({ length: 4 }, (): [Priority, string] => ["high", "x"]),
  );
  await clock.settle();
  const rest = acquireAll(window, [
    ["normal", "status"],
    ...Array.from({ length: 20 }, (): [Priority, string] => ["high", "a"]),
    ...Array.from({ length: 40 }, (): [Priority, string] => ["urgent", "b"]),
  ]);
  const slots = [...first.slots];
  for (let i = 0; i < 61; i++) {
    slots.shift()?.release("answered");
    await clock.settle();
    slots.push(...rest.slots.splice(0));
  }
  t.equal(rest.order.length, 61);
  t.ok(rest.order.lastIndexOf("urgent b") < rest.order.indexOf("high a"), "all of those first");
  t.ok(rest.order.indexOf("normal status") < 20, "not starved");
});

interface Rollout {
  /** Milliseconds from the wish to bring a pod back until the answer. */
  readonly urgentMs: readonly number[];
  readonly inFlight: readonly number[];
}

/**
 * All pods at once: a write takes each out of service, or creates it, the next one brings it (back) into it, then its status is
 * written. `answerAt` gives the time at which the server answers what arrives now.
 */
async function rollout(
  answerAt: (now: number) => number,
  pods: number,
  second: Priority = "urgent",
): Promise<Rollout> {
  const clock = testClock();
  const window = createWindow({ clock });
  const urgentMs: number[] = [];
  const inFlight: number[] = [];
  let underWay = pods;
  const write = async (priority: Priority, flow: string): Promise<void> => {
    const slot = await window.acquire(priority, flow);
    inFlight.push(window.inFlight);
    const now = clock.monotonic();
    await new Promise<void>((resolve) => {
      clock.after(answerAt(now) - now, resolve);
    });
    slot.release("answered");
  };
  const pod = async (): Promise<void> => {
    await write("high", "workload");
    const gated = clock.monotonic();
    await write(second, "workload");
    urgentMs.push(clock.monotonic() - gated);
    await write("normal", "status");
    underWay--;
  };
  for (let i = 0; i < pods; i++) void pod();
  while (underWay > 0) await clock.advance((clock.nextAt ?? 0) - clock.monotonic());
  return { urgentMs, inFlight };
}

const serviceMs = 8;

/** Works on one request at a time. */
function busyServer(): { answerAt: (now: number) => number; idleAt: number } {
  const random = seededRandom(seed);
  const server = {
    idleAt: 0,
    answerAt: (now: number): number => {
      server.idleAt = Math.max(now, server.idleAt) + serviceMs * (0.5 + random());
      return server.idleAt;
    },
  };
  return server;
}

t.test(
  "in a rollout no more is in flight than keeps a busy server busy: urgent writes do not wait in it",
  async (t) => {
    const server = busyServer();
    const { urgentMs, inFlight } = await rollout(server.answerAt, 300);
    const settled = meanOf(inFlight.slice(200, 550));
    t.ok(settled < 5, `${settled.toFixed(1)} in flight`);
    const waited = meanOf(urgentMs.slice(50));
    t.ok(waited < 7 * serviceMs, `${waited.toFixed(0)} ms`);
    t.ok(server.idleAt < 1.1 * 900 * serviceMs, `the server was busy: ${server.idleAt.toFixed(0)} ms`);
  },
);

t.test(
  "new pods do not make the window small: a server that others use as well serves who asks",
  async (t) => {
    const { inFlight } = await rollout(busyServer().answerAt, 300, "prompt");
    const settled = meanOf(inFlight.slice(200, 550));
    t.ok(settled > 7, `${settled.toFixed(1)} in flight`);
  },
);

t.test("in a rollout over a long way as much is in flight as there is room for", async (t) => {
  const random = seededRandom(seed);
  const { inFlight } = await rollout((now) => now + 150 + 100 * random(), 800);
  const settled = meanOf(inFlight.slice(1_200, 1_500));
  t.ok(settled > 24, `${settled.toFixed(1)} in flight`);
});

t.test("a pause lets nobody in until it is over, leaving twice counts once", async (t) => {
  const clock = testClock();
  const window = createWindow({ clock, start: 4 });
  window.pause(1_000);
  window.pause(200);
  const { order, slots } = acquireAll(window, [["high", "h"]]);
  await clock.advance(999);
  t.same(order, []);
  await clock.advance(1);
  t.same(order, ["high h"]);
  slots[0]?.release("answered");
  slots[0]?.release("answered");
  t.equal(window.inFlight, 0);
});

t.test("whatever pauses overlap, and however early their timers fire, all are let in at last", async () => {
  const pauses = fc.array(fc.record({ ms: fc.integer({ min: 1, max: 2_000 }), afterMs: fc.nat(1_500) }), {
    minLength: 1,
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(pauses, fc.double({ min: 0, max: 20, noNaN: true }), async (asked, earlyMs) => {
      const clock = testClock();
      const early = { ...clock, after: (ms: number, run: () => void) => clock.after(ms - earlyMs, run) };
      const window = createWindow({ clock: early, start: 4 });
      let letIn = 0;
      for (const { ms, afterMs } of asked) {
        window.pause(ms);
        void window.acquire("urgent", "lease").then((slot) => {
          letIn++;
          slot.release("answered");
        });
        clock.skip(afterMs);
      }
      clock.skip(2_000);
      await new Promise((resolve) => setImmediate(resolve));
      return letIn === asked.length && window.waiting === 0;
    }),
    { seed, numRuns: 200 },
  );
});

t.test("what keeps the leadership waits for nothing, and takes nobody's place", async (t) => {
  const window = createWindow({ clock: testClock(), start: 4 });
  acquireAll(window, [
    ["high", "x"],
    ["high", "x"],
    ["high", "x"],
    ["high", "x"],
    ["urgent", "y"],
  ]);
  window.pause(60_000);
  const slot = await window.acquire("leadership", "lease");
  t.same([window.inFlight, window.waiting], [4, 1]);
  slot.release("answered");
  t.same([window.inFlight, window.waiting], [4, 1]);
});

t.test("an aborted waiter leaves the line, a closed window refuses", async (t) => {
  const clock = testClock();
  const window = createWindow({ clock, start: 4 });
  acquireAll(window, [
    ["normal", "x"],
    ["normal", "x"],
    ["normal", "x"],
    ["normal", "x"],
  ]);
  const controller = new AbortController();
  const aborted = window.acquire("normal", "y", controller.signal);
  controller.abort(new Error("no longer wanted"));
  await t.rejects(aborted, /no longer wanted/);
  t.equal(window.waiting, 0);
  const waiting = window.acquire("normal", "y");
  window.close();
  await t.rejects(waiting, { code: "Aborted" });
  await t.rejects(window.acquire("normal", "y"), { code: "Aborted" });
});

t.test("property: never more in flight than the limit, nobody is forgotten", async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(5), { minLength: 1, maxLength: 200 }), async (moves) => {
      const clock = testClock();
      const window = createWindow({ clock, start: 8 });
      const inside: WindowSlot[] = [];
      let entered = 0;
      let asked = 0;
      for (const move of moves) {
        if (move <= 2) {
          asked++;
          const priority = (["high", "normal", "low"] as const)[move] ?? "low";
          void window.acquire(priority, `flow ${asked % 3}`).then((slot) => {
            entered++;
            inside.push(slot);
          });
        } else inside.shift()?.release(move === 5 ? "refused" : "answered");
        const before = window.inFlight;
        if (before > Math.max(window.limit, 8)) return false;
        await Promise.resolve();
      }
      for (let i = 0; i < 500 && entered < asked; i++) {
        await Promise.resolve();
        inside.shift()?.release("answered");
      }
      await Promise.resolve();
      return entered === asked && window.waiting === 0;
    }),
    { seed, numRuns: 100 },
  );
  t.pass("held in all runs");
});
