/** How many streams are open at a time: the next one waits until one ends. */
export class Streams {
  readonly #waiting: (() => void)[] = [];
  readonly #onFull: () => void;
  #free: number;

  /** `onFull` is called when one begins to wait while no other does. */
  constructor(most: number, onFull: () => void) {
    this.#free = most;
    this.#onFull = onFull;
  }

  async use(run: () => Promise<void>): Promise<void> {
    await this.#take();
    try {
      await run();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }

  async #take(): Promise<void> {
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    if (this.#waiting.length === 0) this.#onFull();
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
