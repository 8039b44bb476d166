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

export interface StatusWriter<T> {
  /** Takes the status that is to be on the server. Returns at once. */
  offer(status: T): void;
  /** What the server has now; a status that differs from it is written again. */
  observed(status: T | undefined): void;
  stop(): Promise<void>;
}

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

export function createStatusWriter<T extends object>(options: StatusWriterOptions<T>): StatusWriter<T> {
  const { clock, log, perSecond = 0.5, burst = 5 } = options;
  const stopping = new AbortController();
  let wanted: T | undefined;
  let server: T | undefined;
  let tokens = burst;
  let filledAt = clock.monotonic();
  let running: Promise<void> | undefined;
  /** Cleared in the same turn in which the last look found nothing to write: an offer after it starts anew. */
  let busy = false;

  function needsWrite(): boolean {
    return wanted !== undefined && !jsonEqual(wanted, server);
  }

  /** Milliseconds until a write is allowed; takes the token when it is. */
  function takeToken(): number {
    const now = clock.monotonic();
    tokens = Math.min(burst, tokens + ((now - filledAt) / 1000) * perSecond);
    filledAt = now;
    if (tokens < 1) return ((1 - tokens) / perSecond) * 1000;
    tokens -= 1;
    return 0;
  }

  async function drain(): Promise<void> {
    let failures = noFailures;
    while (needsWrite() && !stopping.signal.aborted) {
      const waitMs = takeToken();
      if (waitMs > 0) await clock.sleep(waitMs, stopping.signal).catch(() => undefined);
      else failures = await writeOnce(failures);
    }
    busy = false;
  }

  /** The failures in a row after this write; when it failed, the pause before the next one is over then. */
  async function writeOnce(before: Failures): Promise<Failures> {
    const status = wanted;
    if (!status) return noFailures;
    try {
      server = await options.write(status, server, stopping.signal);
      // A server that keeps less than was written would otherwise be written to for ever.
      if (status === wanted && !jsonEqual(status, server)) server = status;
      return noFailures;
    } catch (error) {
      if (stopping.signal.aborted) return before;
      if (isKubeError(error, "NotFound")) {
        // The object is gone; whoever makes a new one tells of it by `observed`.
        wanted = undefined;
        return noFailures;
      }
      const failures = oneMore(before, error);
      const retryMs = backoffMs(failures, retries);
      log.warn("a status could not be written, it is tried again", { error: messageOf(error), retryMs });
      await clock.sleep(retryMs, stopping.signal).catch(() => undefined);
      return failures;
    }
  }

  function kick(): void {
    if (busy || stopping.signal.aborted || !needsWrite()) return;
    busy = true;
    running = drain();
  }

  return {
    offer(status) {
      wanted = status;
      kick();
    },
    observed(status) {
      if (busy) return;
      server = status;
      kick();
    },
    async stop() {
      stopping.abort(new Error("stopped"));
      await running;
    },
  };
}
