/** How long the harness waits for something that should happen. */
import { availableParallelism, loadavg } from "node:os";

/**
 * How many times as long everything takes now: what wants to run, for each processor. 1 on a machine that is not busy,
 * and where the system does not tell.
 */
export function crowding(load = loadavg()[0] ?? 0, processors = availableParallelism()): number {
  return Math.max(1, load / processors);
}

/**
 * Limits are for a machine that is not busy. On a busy one the same work takes so much longer, and so does the limit:
 * the load counts when time would be up, since it may have come meanwhile.
 */
export class Patience {
  readonly #limitMs: number;
  readonly #since: number;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
    this.#since = performance.now();
  }

  get isOver(): boolean {
    return this.leftMs <= 0;
  }

  get leftMs(): number {
    return this.#limitMs * crowding() - (performance.now() - this.#since);
  }

  /** For messages: `60 s`, or `4.0 times 60 s, since the machine is busy`. */
  toString(): string {
    const times = crowding();
    const limit = `${this.#limitMs / 1000} s`;
    return times < 1.5 ? limit : `${times.toFixed(1)} times ${limit}, since the machine is busy`;
  }
}
