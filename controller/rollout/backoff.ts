/** Work that failed waits, the longer the more often it failed in a row: base · 2^(failures − 1), at most max. */
import type { Clock } from "../../kube/index.ts";

export interface BackoffOptions {
  clock: Pick<Clock, "monotonic">;
  /** Milliseconds. */
  baseDelayMs: number;
  maxDelayMs: number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  /** What failed last, and when (monotonic) each may be tried again. */
  readonly #held = new Map<string, { failures: number; retryAt: number }>();

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** Milliseconds until it may be tried again; 0 when it may be now. */
  leftMs(id: string): number {
    const held = this.#held.get(id);
    return held === undefined ? 0 : Math.max(0, held.retryAt - this.#options.clock.monotonic());
  }

  /** Returns after how many milliseconds it may be tried again. */
  failed(id: string, atLeastMs = 0): number {
    const { baseDelayMs, maxDelayMs } = this.#options;
    const failures = (this.#held.get(id)?.failures ?? 0) + 1;
    const delay = Math.max(atLeastMs, Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(30, failures - 1)));
    this.#hold(id, failures, delay);
    return delay;
  }

  /** Not a failure: it may be tried after `ms`. */
  wait(id: string, ms: number): void {
    this.#hold(id, 0, ms);
  }

  /** It went well, or is of no interest any more. */
  forget(id: string): void {
    this.#held.delete(id);
  }

  #hold(id: string, failures: number, ms: number): void {
    this.#held.set(id, { failures, retryAt: this.#options.clock.monotonic() + ms });
  }
}
