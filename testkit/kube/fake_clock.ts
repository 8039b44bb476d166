/** Time under the test's hand. */
import { type Clock, sleepOn, type Timer } from "../../kube/core/index.ts";

export interface TestClock extends Clock {
  /** Lets `ms` pass: fires what is due in order of time, and lets promises settle after each. */
  advance(ms: number): Promise<void>;
  /** As `advance`, but at once: promises settle only when the caller awaits. */
  skip(ms: number): void;
  /** Skips in steps of a millisecond until `done`; throws when that takes longer than `withinMs` (default a minute). */
  until(done: () => boolean, withinMs?: number): void;
  /** Lets promises and pending I/O callbacks settle without time passing. */
  settle(): Promise<void>;
  /** Timers that wait. */
  readonly pending: number;
  /** Monotonic time of the next timer. */
  readonly nextAt: number | undefined;
}

/** A clock that moves only when it is advanced. Starts at `startMs` (default 2026-01-01T00:00:00Z). */
export function testClock(startMs = 1_767_225_600_000): TestClock {
  let elapsed = 0;
  let sequence = 0;
  const waiting = new Map<number, { at: number; run: () => void }>();
  const next = (): [number, { at: number; run: () => void }] | undefined => {
    let best: [number, { at: number; run: () => void }] | undefined;
    for (const entry of waiting) if (!best || entry[1].at < best[1].at) best = entry;
    return best;
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const after = (ms: number, run: () => void): Timer => {
    const id = sequence++;
    waiting.set(id, { at: elapsed + Math.max(0, ms), run });
    return { cancel: () => waiting.delete(id) };
  };
  const skip = (ms: number): void => {
    const end = elapsed + ms;
    for (let due = next(); due && due[1].at <= end; due = next()) {
      waiting.delete(due[0]);
      elapsed = due[1].at;
      due[1].run();
    }
    elapsed = end;
  };
  return {
    now: () => startMs + elapsed,
    monotonic: () => elapsed,
    after,
    sleep: (ms, signal) => sleepOn({ after }, ms, signal),
    settle,
    get pending() {
      return waiting.size;
    },
    get nextAt() {
      return next()?.[1].at;
    },
    skip,
    until(done, withinMs = 60_000) {
      const end = elapsed + withinMs;
      skip(0);
      while (!done()) {
        if (elapsed >= end) throw new Error(`not so within ${withinMs} ms`);
        skip(1);
      }
    },
    async advance(ms) {
      const end = elapsed + ms;
      await settle();
      for (let due = next(); due && due[1].at <= end; due = next()) {
        waiting.delete(due[0]);
        elapsed = due[1].at;
        due[1].run();
        await settle();
      }
      elapsed = end;
      await settle();
    },
  };
}
