/**
 * Keyed work on one timer. Every simulated component keeps its due work here, so that thousands of pods
 * cost one pending timer of the clock and not one each.
 */
import { type Clock, Heap, type Timer } from "../kube/core/index.ts";

/** Milliseconds until the key is due again; undefined when nothing is left to do. */
export type Next = number | undefined;

export interface Agenda {
  /** Makes `key` due in `afterMs` (default: at once). The earlier of two times wins; a running key is held back. */
  add(key: string, afterMs?: number): void;
  drop(key: string): void;
  stop(): void;
  readonly size: number;
}

interface AgendaOptions {
  clock: Clock;
  /** Carries out the work of one key. Throwing or rejecting puts the key back with a doubling delay. */
  run: (key: string) => Next | Promise<Next>;
  onError: (error: unknown, key: string) => void;
  /** Keys carried out before the event loop gets a turn; default 256. */
  batch?: number;
}

interface Entry {
  readonly key: string;
  readonly due: number;
  readonly order: number;
}

const firstRetryMs = 10;
const longestRetryMs = 5_000;

export function createAgenda(options: AgendaOptions): Agenda {
  return new HeapAgenda(options);
}

class HeapAgenda implements Agenda {
  readonly #options: AgendaOptions;
  readonly #heap = new Heap(before);
  readonly #current = new Map<string, Entry>();
  readonly #running = new Set<string>();
  readonly #failures = new Map<string, number>();
  #order = 0;
  #timer: Timer | undefined;
  #armedFor = Number.POSITIVE_INFINITY;
  #stopped = false;
  #draining = false;

  constructor(options: AgendaOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#current.size;
  }

  add(key: string, afterMs = 0): void {
    if (this.#stopped) return;
    const due = this.#options.clock.monotonic() + Math.max(0, afterMs);
    const present = this.#current.get(key);
    if (present && present.due <= due) return;
    const entry: Entry = { key, due, order: this.#order++ };
    this.#current.set(key, entry);
    this.#heap.push(entry);
    if (!this.#draining && !this.#running.has(key)) this.#arm(due);
  }

  drop(key: string): void {
    this.#current.delete(key);
    this.#failures.delete(key);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#heap.clear();
    this.#current.clear();
  }

  #arm(due: number): void {
    if (this.#stopped || due >= this.#armedFor) return;
    this.#timer?.cancel();
    this.#armedFor = due;
    const wait = Math.max(0, due - this.#options.clock.monotonic());
    this.#timer = this.#options.clock.after(wait, () => this.#drain());
  }

  #drain(): void {
    this.#timer = undefined;
    this.#armedFor = Number.POSITIVE_INFINITY;
    this.#draining = true;
    const now = this.#options.clock.monotonic();
    let left = this.#options.batch ?? 256;
    for (let top = this.#heap.top; top && top.due <= now && left > 0; top = this.#heap.top) {
      this.#heap.pop();
      if (this.#current.get(top.key) !== top) continue;
      // A key that is being worked on is taken up again by #finish.
      if (this.#running.has(top.key)) continue;
      this.#current.delete(top.key);
      left -= 1;
      this.#work(top.key);
      if (this.#stopped) return;
    }
    this.#draining = false;
    const next = this.#heap.top;
    if (next) this.#arm(next.due);
  }

  #work(key: string): void {
    try {
      const next = this.#options.run(key);
      if (!(next instanceof Promise)) {
        this.#succeeded(key, next);
        return;
      }
      this.#running.add(key);
      next
        .then(
          (wait) => this.#succeeded(key, wait),
          (error: unknown) => this.#failed(key, error),
        )
        .finally(() => this.#finish(key));
    } catch (error) {
      this.#failed(key, error);
    }
  }

  #finish(key: string): void {
    this.#running.delete(key);
    const waiting = this.#current.get(key);
    if (!waiting || this.#stopped) return;
    this.#heap.push(waiting);
    this.#arm(waiting.due);
  }

  #succeeded(key: string, next: Next): void {
    this.#failures.delete(key);
    if (next !== undefined) this.add(key, next);
  }

  #failed(key: string, error: unknown): void {
    if (this.#stopped) return;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    this.#options.onError(error, key);
    this.add(key, Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(failures - 1, 20)));
  }
}

function before(a: Entry, b: Entry): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}
