/** Work that failed waits, the longer the more often it failed in a row: how long is kube's to say. */
import {
  backoffMs,
  type Clock,
  type Failures,
  isKubeError,
  noFailures,
  oneMore,
} from "../../../kube/index.ts";

interface BackoffOptions {
  clock: Pick<Clock, "monotonic">;
  /** Milliseconds. */
  baseDelayMs: number;
  maxDelayMs: number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  /** What failed last, and when (monotonic) each may be tried again. */
  readonly #held = new Map<string, { failures: Failures; retryAt: number }>();

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** Milliseconds until it may be tried again; 0 when it may be now. */
  leftMs(id: string): number {
    const held = this.#held.get(id);
    return held === undefined ? 0 : Math.max(0, held.retryAt - this.#options.clock.monotonic());
  }

  /** How often it has failed in a row. */
  failures(id: string): number {
    return this.#held.get(id)?.failures.count ?? 0;
  }

  /** Returns after how many milliseconds it may be tried again; never before the server wants to hear of it. */
  failed(id: string, error: unknown): number {
    const { baseDelayMs, maxDelayMs } = this.#options;
    const failures = oneMore(this.#held.get(id)?.failures ?? noFailures, error);
    const atLeastMs = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
    const delay = Math.max(atLeastMs, backoffMs(failures, { firstMs: baseDelayMs, longestMs: maxDelayMs }));
    this.#hold(id, failures, delay);
    return delay;
  }

  /** Not a failure: it may be tried after `ms`. */
  wait(id: string, ms: number): void {
    this.#hold(id, noFailures, ms);
  }

  /** It went well, or is of no interest any more. */
  forget(id: string): void {
    this.#held.delete(id);
  }

  #hold(id: string, failures: Failures, ms: number): void {
    this.#held.set(id, { failures, retryAt: this.#options.clock.monotonic() + ms });
  }
}
