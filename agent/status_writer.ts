/**
 * Writes one object's status: the latest value wins, equal values are not written again, bursts are coalesced
 * (spec images 7.14: 0.5 writes a second, bursts of 5), failed writes are repeated with back-off.
 */
import {
  backoffMs,
  type Clock,
  type Failures,
  isKubeError,
  jsonEqual,
  type Log,
  noFailures,
  oneMore,
} from "../kube/index.ts";
import { messageOf } from "./errors.ts";

export interface StatusWriterOptions<T> {
  readonly clock: Clock;
  readonly log: Log;
  /** Resolves with what the server then has. */
  readonly write: (status: T, before: T | undefined, signal: AbortSignal) => Promise<T>;
  /** Default 0.5. */
  readonly perSecond?: number;
  /** Default 5. */
  readonly burst?: number;
}

const retries = { firstMs: 500, longestMs: 50_000 };

export class StatusWriter<T extends object> {
  readonly #options: StatusWriterOptions<T>;
  readonly #tokens: Tokens;
  readonly #stopping = new AbortController();
  #wanted: T | undefined;
  #server: T | undefined;
  #running: Promise<void> | undefined;
  /** Cleared in the same turn in which the last look found nothing to write: an offer after it starts another one. */
  #busy = false;
  /** A request is under way: its answer is newer than what a watch shows meanwhile. */
  #writing = false;

  constructor(options: StatusWriterOptions<T>) {
    this.#options = options;
    this.#tokens = new Tokens(options.clock, options.perSecond ?? 0.5, options.burst ?? 5);
  }

  /** Takes the status that is to be on the server. Returns at once. */
  offer(status: T): void {
    this.#wanted = status;
    this.#kick();
  }

  /** What the server has now; a status that differs from it is written again. */
  observed(status: T | undefined): void {
    if (this.#writing) return;
    this.#server = status;
    this.#kick();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("stopped"));
    await this.#running;
  }

  #needsWrite(): boolean {
    return this.#wanted !== undefined && !jsonEqual(this.#wanted, this.#server);
  }

  #kick(): void {
    if (this.#busy || this.#stopping.signal.aborted || !this.#needsWrite()) return;
    this.#busy = true;
    this.#running = this.#drain();
  }

  async #drain(): Promise<void> {
    let failures = noFailures;
    while (this.#needsWrite() && !this.#stopping.signal.aborted) {
      const waitMs = this.#tokens.take();
      if (waitMs > 0) await this.#pause(waitMs);
      else failures = await this.#writeOnce(failures);
    }
    this.#busy = false;
  }

  /** The failures in a row after this write; when it failed, the pause before the next one is over then. */
  async #writeOnce(before: Failures): Promise<Failures> {
    const status = this.#wanted;
    const { signal } = this.#stopping;
    if (!status) return noFailures;
    try {
      this.#writing = true;
      this.#server = await this.#options.write(status, this.#server, signal).finally(() => {
        this.#writing = false;
      });
      // A server that keeps less than was written would otherwise be written to for ever.
      if (status === this.#wanted && !jsonEqual(status, this.#server)) this.#server = status;
      return noFailures;
    } catch (error) {
      if (signal.aborted) return before;
      if (isKubeError(error, "NotFound")) {
        // The object is gone; a new one comes by `observed`.
        this.#wanted = undefined;
        return noFailures;
      }
      const failures = oneMore(before, error);
      const retryMs = backoffMs(failures, retries);
      const text = "a status could not be written, it is tried again";
      this.#options.log.warn(text, { error: messageOf(error), retryMs });
      await this.#pause(retryMs);
      return failures;
    }
  }

  /** Ends at once when the writer stops. */
  #pause(ms: number): Promise<void> {
    return this.#options.clock.sleep(ms, this.#stopping.signal).catch(() => undefined);
  }
}

/** So many writes at once, then so many a second. */
class Tokens {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #burst: number;
  #left: number;
  #filledAt: number;

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#left = burst;
    this.#filledAt = clock.monotonic();
  }

  /** Milliseconds until a write is allowed; takes the token when it is. */
  take(): number {
    const now = this.#clock.monotonic();
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#filledAt) / 1000) * this.#perSecond);
    this.#filledAt = now;
    // Whole ones: a clock that has run for long does not move by the rest that rounding leaves.
    if (this.#left < 1) return Math.ceil(((1 - this.#left) / this.#perSecond) * 1000);
    this.#left -= 1;
    return 0;
  }
}
