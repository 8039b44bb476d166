import fc from "fast-check";
import t from "tap";
import { seededRandom } from "../../../kube/index.ts";
import { Pace } from "./pace.ts";

const seed = 20_261_122;

interface Lab {
  readonly budget: number;
  readonly pods: number;
  /** Milliseconds that a pod's node takes, by the time at which it begins. */
  nodeMs(at: number): number;
  /** Milliseconds that the server is busy with a pod: one after the other. */
  serverMs(at: number): number;
}

interface Rolled {
  readonly tookMs: number;
  /** Of the second half of the pods that came back. */
  readonly outMs: readonly number[];
  /** Most pods out at once, after half of them came back. */
  readonly mostOut: number;
  readonly limits: readonly number[];
}

/**
 * A rollout where pods begin as soon as the pace and the budget allow, each in half the time that the server takes to bring
 * one back, which it does one after the other.
 */
function rollOut({ budget, pods, nodeMs, serverMs }: Lab): Rolled {
  const pace = new Pace();
  const limits: number[] = [];
  const outMs: number[] = [];
  /** Pods out: when they began and when their nodes are done, the soonest first. */
  const out: { began: number; due: number }[] = [];
  let [now, freeAt, begun, beganAt, mostOut] = [0, 0, 0, 0, 0];
  while (limits.length < pods) {
    const next = out[0];
    const ends = next === undefined ? Number.POSITIVE_INFINITY : endOf(next.due, freeAt, serverMs);
    const mayBegin = begun < pods && out.length < Math.min(budget, pace.limit);
    const begins = Math.max(now, beganAt + serverMs(beganAt) / 2);
    if (mayBegin && begins < ends) {
      [now, beganAt] = [begins, begins];
      const entry = { began: now, due: now + nodeMs(now) };
      const place = out.findIndex(({ due }) => due > entry.due);
      out.splice(place < 0 ? out.length : place, 0, entry);
      begun++;
      if (limits.length > pods / 2) mostOut = Math.max(mostOut, out.length);
      continue;
    }
    if (next === undefined) throw new Error("nothing may begin, and nothing is out");
    out.shift();
    [now, freeAt] = [ends, ends];
    pace.back(now, now - next.began, now - next.due);
    limits.push(pace.limit);
    if (limits.length > pods / 2) outMs.push(now - next.began);
  }
  return { tookMs: now, outMs, mostOut, limits };
}

function endOf(due: number, freeAt: number, serverMs: Lab["serverMs"]): number {
  const starts = Math.max(freeAt, due);
  return starts + serverMs(starts);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

t.test("a busy server: rate by time, a rollout as fast as with the whole budget", async (t) => {
  const lab: Lab = { budget: 500, pods: 5_000, nodeMs: () => 300, serverMs: () => 8 };
  const { tookMs, mostOut, outMs } = rollOut(lab);
  const needed = 308 / 8;
  t.ok(mostOut >= needed && mostOut <= 2 * needed, `${mostOut} out, ${needed} needed`);
  t.ok(median(outMs) < 2 * 308, `${median(outMs)} ms`);
  t.ok(tookMs < 1.03 * (5_000 * 8 + 300), `${tookMs} ms`);
});

t.test("slow nodes: nobody is held back, also when only the later ones are slow", async (t) => {
  const slow = rollOut({ budget: 100, pods: 1_000, nodeMs: () => 10_000, serverMs: () => 8 });
  t.ok(slow.tookMs < 1.05 * 10 * 10_100, `${slow.tookMs} ms`);
  t.equal(slow.mostOut, 100);
  const later = rollOut({
    budget: 500,
    pods: 6_000,
    nodeMs: (at) => (at < 10_000 ? 300 : 10_000),
    serverMs: () => 8,
  });
  t.equal(later.mostOut, 500);
});

t.test("a server that becomes slower, and faster again", async (t) => {
  const serverMs = (at: number): number => (at > 10_000 && at < 150_000 ? 80 : 8);
  const { outMs, limits } = rollOut({ budget: 500, pods: 5_000, nodeMs: () => 300, serverMs });
  // 1,250 pods until it is slow, 1,750 more until it is fast again.
  t.ok(Math.max(...limits.slice(1_000, 2_900)) < 2 * 54, "never many more than before");
  t.ok(Math.max(...limits.slice(2_700, 2_900)) < 40, "fewer when that is known");
  t.ok(median(outMs) < 2 * 308, `${median(outMs)} ms in the end`);
  const slowFirst = (at: number): number => (at < 20_000 ? 80 : 8);
  const lab: Lab = { budget: 500, pods: 5_000, nodeMs: () => 300, serverMs: slowFirst };
  const { tookMs } = rollOut(lab);
  const whole = 20_000 + (5_000 - 250) * 8;
  t.ok(tookMs < 1.05 * whole, `${tookMs} ms of ${whole}`);
});

t.test(
  "property: never none, never over the budget, near rate by time, and hardly slower for it",
  async (t) => {
    fc.assert(
      fc.property(
        fc.integer({ min: 50, max: 2_000 }),
        fc.integer({ min: 2, max: 50 }),
        fc.integer({ min: 1, max: 1_000 }),
        fc.double({ min: 0, max: 0.8, noNaN: true }),
        fc.nat(1_000_000),
        (nodeMs, serverMs, budget, spread, chance) => {
          const random = seededRandom(chance);
          const pods = 1_000;
          const lab: Lab = {
            budget,
            pods,
            nodeMs: () => nodeMs * (1 + spread * (2 * random() - 1)),
            serverMs: () => serverMs,
          };
          const { limits, mostOut, tookMs } = rollOut(lab);
          if (limits.some((limit) => !(limit >= 1)) || mostOut > budget) return false;
          const needed = nodeMs / serverMs + 1;
          const best = Math.max(serverMs, (nodeMs + serverMs) / budget) * pods;
          return mostOut <= 2.6 * needed + 24 && tookMs < 1.35 * (best + 3 * nodeMs);
        },
      ),
      { seed, numRuns: 1_000 },
    );
    t.pass("held in all runs");
  },
);

t.test("property: whatever is reported, it is a number of at least one", async (t) => {
  const reported = fc.record({
    after: fc.double({ min: 0, max: 1e6, noNaN: true }),
    outMs: fc.double({ min: 0, max: 1e7, noNaN: true }),
    writeMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(reported, { maxLength: 300 }), (all) => {
      const pace = new Pace();
      let now = 0;
      return all.every(({ after, outMs, writeMs }) => {
        now += after;
        pace.back(now, outMs, writeMs);
        return pace.limit >= 1;
      });
    }),
    { seed, numRuns: 1_000 },
  );
  t.pass("held in all runs");
});
