/** Names or numbers in ascending order, for sets that change by one at a time. */
export class Sorted<T extends string | number> implements Iterable<T> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: T): void {
    const index = this.#after(item);
    if (this.#items[index - 1] !== item) this.#items.splice(index, 0, item);
  }

  delete(item: T): void {
    const index = this.#after(item) - 1;
    if (this.#items[index] === item) this.#items.splice(index, 1);
  }

  has(item: T): boolean {
    return this.#items[this.#after(item) - 1] === item;
  }

  /** How many come after this one. */
  above(item: T): number {
    return this.#items.length - this.#after(item);
  }

  first(count: number): readonly T[] {
    return this.#items.slice(0, Math.max(0, count));
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items.values();
  }

  *descending(): Generator<T> {
    for (let index = this.#items.length - 1; index >= 0; index--) {
      const item = this.#items[index];
      if (item !== undefined) yield item;
    }
  }

  clear(): void {
    this.#items.length = 0;
  }

  /** Index behind the last that is not after this one. */
  #after(item: T): number {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const there = this.#items[middle];
      if (there !== undefined && there <= item) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export class SortedNames extends Sorted<string> {}
