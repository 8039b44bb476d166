/** Time that passes only when all that was due has been done: an hour takes as long as its work. */
import { type Clock, Heap, sleepOn, type Timer } from "../kube/index.ts";

interface Due {
  readonly at: number;
  readonly order: number;
  run: (() => void) | undefined;
}

export class VirtualClock implements Clock {
  readonly #startMs: number;
  readonly #due = new Heap<Due>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  #elapsed = 0;
  #order = 0;

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(ms: number, run: () => void): Timer {
    const due: Due = { at: this.#elapsed + Math.max(0, ms), order: this.#order++, run };
    this.#due.push(due);
    return {
      cancel: () => {
        due.run = undefined;
      },
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** Lets `ms` pass, doing what is due in order of time, and after each of it all that follows at once. Ends early where `done`. */
  async pass(ms: number, done: () => boolean = () => false): Promise<void> {
    const end = this.#elapsed + ms;
    await settled();
    for (let next = this.#due.top; next && next.at <= end && !done(); next = this.#due.top) {
      this.#due.pop();
      const { run } = next;
      if (run === undefined) continue;
      next.run = undefined;
      this.#elapsed = next.at;
      run();
      await settled();
    }
    if (!done()) this.#elapsed = end;
  }
}

/** All promises that can go on have gone on: nothing here waits for anything but promises and this clock. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The time of one process: when it dies nothing of it happens any more. Its time of day may be wrong. */
export class ProcessClock implements Clock {
  readonly #clock: VirtualClock;
  #dead = false;
  #skewMs = 0;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now() + this.#skewMs;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(ms: number, run: () => void): Timer {
    return this.#clock.after(ms, () => {
      if (!this.#dead) run();
    });
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  skew(ms: number): void {
    this.#skewMs = ms;
  }

  die(): void {
    this.#dead = true;
  }
}
