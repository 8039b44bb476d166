/** Time and chance come in from outside, so that every process can run under a test's hand. */

import { clearTimeout, setTimeout } from "node:timers";

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Monotonic milliseconds, for durations. */
  monotonic(): number;
  /**
   * Calls `run` once after `ms`; the returned timer never keeps the process alive by itself. Timers of Node count from the
   * beginning of the event loop's turn: by `monotonic`, `run` may be called earlier, by as much as the turn took.
   */
  after(ms: number, run: () => void): Timer;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Uniform in [0, 1). */
export type Random = () => number;

const longestTimeoutMs = 2 ** 31 - 1;

/**
 * The machine's own time. Timers of `after` do not keep the process alive, a `sleep` does: somebody waits for it.
 * Delays beyond 24 days are chained.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, run) => schedule(ms, run, false),
  sleep: (ms, signal) => sleepOn({ after: (delay, run) => schedule(delay, run, true) }, ms, signal),
};

function schedule(ms: number, run: () => void, keepsAlive: boolean): Timer {
  let handle: NodeJS.Timeout;
  const arm = (left: number): void => {
    const step = Math.min(Math.max(left, 0), longestTimeoutMs);
    handle = setTimeout(() => (left > step ? arm(left - step) : run()), step);
    if (!keepsAlive) handle.unref();
  };
  arm(ms);
  return { cancel: () => clearTimeout(handle) };
}

/** `sleep` of any clock that has `after`. */
export function sleepOn(clock: Pick<Clock, "after">, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
