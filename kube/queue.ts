/**
 * The work queue: each key at most once in it, at most one worker on a key.
 * A key that is added while it runs is held back and queued once more when it is done.
 * A key that waits for a delay keeps the earliest time; work that is due now cancels the wait.
 */
import { backoffMs, type Failures, noFailures, oneMore } from "./backoff.ts";
import type { Clock, Timer } from "./clock.ts";
import { Heap } from "./core/heap.ts";
import { isKubeError } from "./errors.ts";

export interface WorkQueueOptions {
  clock: Clock;
  /**
   * Backoff of a key after its n-th failure in a row: base * 2^(n-1), at most max, and at most some seconds while the
   * server is away. Defaults 5 ms and 1000 s.
   */
  baseDelayMs?: number;
  maxDelayMs?: number;
  /** Bounds retries of all keys together (spec platform 2.1: rate limiter flags). Absent: no bound. */
  retryBucket?: { perSecond: number; size: number };
  observer?: QueueObserver;
}

/** What metrics hear of a queue. Times in milliseconds. */
export interface QueueObserver {
  added(depth: number): void;
  retried(): void;
  started(depth: number, waitedMs: number): void;
  finished(tookMs: number): void;
}

type Priority = "high" | "normal" | "low";

const order: readonly Priority[] = ["high", "normal", "low"];
/** After so many keys of a higher priority in a row a waiting lower one gets its turn. */
const turnsBeforeYield = 16;

export class WorkQueue {
  readonly #clock: Clock;
  readonly #baseMs: number;
  readonly #maxMs: number;
  readonly #bucket: RetryBucket | undefined;
  readonly #observer: QueueObserver | undefined;
  /** Per priority: key -> since when it waits; insertion order is queue order. */
  readonly #ready: Record<Priority, Map<string, number>> = {
    high: new Map(),
    normal: new Map(),
    low: new Map(),
  };
  /** Running keys; the priority with which each is to come back, if it is. */
  readonly #running = new Map<string, { since: number; again: Priority | undefined }>();
  readonly #delayed = new Delays();
  readonly #failures = new Map<string, Failures>();
  readonly #waiters: ((key: string | undefined) => void)[] = [];
  #timer: { at: number; timer: Timer } | undefined;
  #turns = 0;
  #stopped = false;

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#baseMs = options.baseDelayMs ?? 5;
    this.#maxMs = options.maxDelayMs ?? 1_000_000;
    this.#observer = options.observer;
    this.#bucket =
      options.retryBucket && new RetryBucket(options.retryBucket.perSecond, options.retryBucket.size);
  }

  /** Keys ready to run. */
  get depth(): number {
    return this.#ready.high.size + this.#ready.normal.size + this.#ready.low.size;
  }

  /** Keys that wait for a time. */
  get delayed(): number {
    return this.#delayed.size;
  }

  add(key: string, priority: Priority = "normal"): void {
    if (this.#stopped) return;
    this.#delayed.remove(key);
    this.#enqueue(key, priority);
    this.#hand();
  }

  addAfter(key: string, ms: number): void {
    if (this.#stopped) return;
    if (!(ms > 0)) {
      this.add(key);
      return;
    }
    // It runs before that anyway, and says then when it wants to run again.
    if (this.#isReady(key)) return;
    this.#delayed.add(key, this.#clock.monotonic() + ms);
    this.#arm();
  }

  /** Queues the key after its backoff, for as long at least as the error asks for; returns the delay in milliseconds. */
  addBackoff(key: string, error?: unknown): number {
    const failures = oneMore(this.#failures.get(key) ?? noFailures, error);
    this.#failures.set(key, failures);
    const own = backoffMs(failures, { firstMs: this.#baseMs, longestMs: this.#maxMs });
    const shared = this.#bucket?.take(this.#clock.monotonic()) ?? 0;
    const asked = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
    const delay = Math.max(own, shared, asked);
    this.#observer?.retried();
    this.addAfter(key, delay);
    return delay;
  }

  /** The key went well: its next failure starts with the shortest backoff. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  failures(key: string): number {
    return this.#failures.get(key)?.count ?? 0;
  }

  /** The next key; undefined when the queue was stopped. Call `done` with it. */
  next(): Promise<string | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    const key = this.#take();
    if (key !== undefined) return Promise.resolve(key);
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  done(key: string): void {
    const run = this.#running.get(key);
    if (!run) return;
    this.#running.delete(key);
    this.#observer?.finished(this.#clock.monotonic() - run.since);
    if (run.again === undefined || this.#stopped) return;
    this.#enqueue(key, run.again);
    this.#hand();
  }

  /** Nothing is handed out any more; waiting workers get undefined. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.timer.cancel();
    this.#timer = undefined;
    for (const resolve of this.#waiters.splice(0)) resolve(undefined);
  }

  #isReady(key: string): boolean {
    if (this.#running.get(key)?.again !== undefined) return true;
    return order.some((priority) => this.#ready[priority].has(key));
  }

  #enqueue(key: string, priority: Priority): void {
    const run = this.#running.get(key);
    if (run) {
      run.again = higher(run.again, priority);
      return;
    }
    const held = order.find((each) => this.#ready[each].has(key));
    if (held !== undefined && order.indexOf(held) <= order.indexOf(priority)) return;
    const since = (held && this.#ready[held].get(key)) ?? this.#clock.monotonic();
    if (held) this.#ready[held].delete(key);
    this.#ready[priority].set(key, since);
    if (held === undefined) this.#observer?.added(this.depth);
  }

  #hand(): void {
    while (this.#waiters.length > 0) {
      const key = this.#take();
      if (key === undefined) return;
      this.#waiters.shift()?.(key);
    }
  }

  #take(): string | undefined {
    const priority = this.#turn();
    if (priority === undefined) return undefined;
    for (const [key, since] of this.#ready[priority]) {
      this.#ready[priority].delete(key);
      const now = this.#clock.monotonic();
      this.#running.set(key, { since: now, again: undefined });
      this.#observer?.started(this.depth, now - since);
      return key;
    }
    return undefined;
  }

  #turn(): Priority | undefined {
    const waiting = order.filter((priority) => this.#ready[priority].size > 0);
    if (waiting.length <= 1) {
      this.#turns = 0;
      return waiting[0];
    }
    this.#turns++;
    if (this.#turns % turnsBeforeYield !== 0) return waiting[0];
    return waiting[1 + ((this.#turns / turnsBeforeYield) % (waiting.length - 1))];
  }

  #arm(): void {
    const at = this.#delayed.earliest();
    if (at === undefined || (this.#timer && this.#timer.at <= at)) return;
    this.#timer?.timer.cancel();
    this.#timer = {
      at,
      timer: this.#clock.after(Math.max(0, at - this.#clock.monotonic()), () => this.#enqueueDue()),
    };
  }

  #enqueueDue(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    for (let key = this.#delayed.takeDue(now); key !== undefined; key = this.#delayed.takeDue(now)) {
      this.#enqueue(key, "normal");
    }
    this.#hand();
    this.#arm();
  }
}

function higher(a: Priority | undefined, b: Priority): Priority {
  return a !== undefined && order.indexOf(a) < order.indexOf(b) ? a : b;
}

/** Token bucket of retries: returns how long the taker has to wait. */
class RetryBucket {
  readonly #perMs: number;
  readonly #size: number;
  #tokens: number;
  #at = 0;

  constructor(perSecond: number, size: number) {
    this.#perMs = perSecond / 1000;
    this.#size = size;
    this.#tokens = size;
  }

  take(now: number): number {
    this.#tokens = Math.min(this.#size, this.#tokens + (now - this.#at) * this.#perMs) - 1;
    this.#at = now;
    return this.#tokens >= 0 ? 0 : -this.#tokens / this.#perMs;
  }
}

interface Delayed {
  readonly at: number;
  readonly key: string;
}

/** Keys by time. A changed or removed key leaves its old entry behind; it is skipped when it surfaces. */
class Delays {
  readonly #heap = new Heap<Delayed>((a, b) => a.at < b.at);
  readonly #current = new Map<string, Delayed>();

  get size(): number {
    return this.#current.size;
  }

  /** Keeps the earlier of the held and the given time. */
  add(key: string, at: number): void {
    const held = this.#current.get(key);
    if (held && held.at <= at) return;
    const entry = { at, key };
    this.#current.set(key, entry);
    this.#heap.push(entry);
  }

  remove(key: string): void {
    this.#current.delete(key);
    if (this.#heap.size > 64 && this.#heap.size > 2 * this.#current.size) this.#compact();
  }

  earliest(): number | undefined {
    this.#skipStale();
    return this.#heap.top?.at;
  }

  takeDue(now: number): string | undefined {
    this.#skipStale();
    const first = this.#heap.top;
    if (!first || first.at > now) return undefined;
    this.#heap.pop();
    this.#current.delete(first.key);
    return first.key;
  }

  #skipStale(): void {
    for (let first = this.#heap.top; first && this.#current.get(first.key) !== first; first = this.#heap.top)
      this.#heap.pop();
  }

  #compact(): void {
    const live = [...this.#current.values()].sort((a, b) => a.at - b.at);
    this.#heap.clear();
    for (const entry of live) this.#heap.push(entry);
  }
}
