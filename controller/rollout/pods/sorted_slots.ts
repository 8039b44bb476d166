/** Slots of an index in their order, for groups that change by one at a time. */
export class SortedSlots implements Iterable<string> {
  readonly #compare: (a: string, b: string) => number;
  readonly #slots: string[] = [];

  /** Default: by text. */
  constructor(compare = byText) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#slots.length;
  }

  add(slot: string): void {
    const index = this.#after(slot);
    if (this.#slots[index - 1] !== slot) this.#slots.splice(index, 0, slot);
  }

  delete(slot: string): void {
    const index = this.#after(slot) - 1;
    if (this.#slots[index] === slot) this.#slots.splice(index, 1);
  }

  has(slot: string): boolean {
    return this.#slots[this.#after(slot) - 1] === slot;
  }

  /** How many come after this one. */
  above(slot: string): number {
    return this.#slots.length - this.#after(slot);
  }

  first(count: number): readonly string[] {
    return this.#slots.slice(0, Math.max(0, count));
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#slots.values();
  }

  *descending(): Generator<string> {
    for (let index = this.#slots.length - 1; index >= 0; index--) {
      const slot = this.#slots[index];
      if (slot !== undefined) yield slot;
    }
  }

  clear(): void {
    this.#slots.length = 0;
  }

  /** Index behind the last that is not after this one. */
  #after(slot: string): number {
    let low = 0;
    let high = this.#slots.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const there = this.#slots[middle];
      if (there !== undefined && this.#compare(there, slot) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
