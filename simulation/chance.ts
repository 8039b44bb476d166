/** Drawing from a source of chance. */
import type { Random } from "../kube/index.ts";

export class Chance {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** From `least` to `most`, both included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1));
  }

  oneOf<T>(values: readonly [T, ...T[]]): T {
    return values[this.whole(0, values.length - 1)] ?? values[0];
  }

  /** True with this probability. */
  is(probability: number): boolean {
    return this.#random() < probability;
  }

  /** In [0, 1): a place in a list whose length nobody knows yet. */
  share(): number {
    return this.#random();
  }

  /** Milliseconds: as often short as long. */
  between(shortest: number, longest: number): number {
    return Math.round(shortest * (longest / shortest) ** this.#random());
  }
}
