/**
 * Asks, before anything more is sent, whether it may be. In a process that was stopped for a while (SIGSTOP, a paused machine, a
 * starved processor) answers may be read, and the next writes sent, before the timer that would have forbidden them.
 */
export class Fence {
  readonly #checks = new Set<() => void>();

  /** `check` aborts the signals of requests that may not be sent any more. Returns how to take it away. */
  add(check: () => void): () => void {
    this.#checks.add(check);
    return () => this.#checks.delete(check);
  }

  check(): void {
    for (const check of this.#checks) check();
  }
}
