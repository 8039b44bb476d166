/** So many calls at the same time, in the order in which they were asked for. */
import type { Clock } from "../../kube/index.ts";

/**
 * What has run so long gives its slot to the next: a command that hangs costs no memory until it answers, and however many
 * hang, the others go on.
 */
const longestHoldMs = 10_000;

export class Slots {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(clock: Clock, count: number) {
    this.#clock = clock;
    this.#free = count;
  }

  /** Rejects with the signal's reason when it aborts before there is a slot. */
  async use<T>(run: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#take(signal);
    let held = true;
    const giveBack = (): void => {
      if (!held) return;
      held = false;
      timer.cancel();
      this.#release();
    };
    const timer = this.#clock.after(longestHoldMs, giveBack);
    try {
      return await run();
    } finally {
      giveBack();
    }
  }

  #take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(next);
        reject(signal.reason);
      };
      const next = (): void => {
        this.#waiting.delete(next);
        signal.removeEventListener("abort", leave);
        resolve();
      };
      this.#waiting.add(next);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** The slot goes to who waits longest, or is free. */
  #release(): void {
    const [next] = this.#waiting;
    if (next) next();
    else this.#free++;
  }
}
