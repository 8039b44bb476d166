/** Time and chance come in from outside, so that every process can run under a test's hand. */

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Monotonic milliseconds, for durations. */
  monotonic(): number;
  /** Calls `run` once after `ms`; the returned timer never keeps the process alive by itself. */
  after(ms: number, run: () => void): Timer;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Uniform in [0, 1). */
export type Random = () => number;
