/** Names in ascending order, for sets that change by one name at a time. */
export class SortedNames {
  readonly #names: string[] = [];

  get size(): number {
    return this.#names.length;
  }

  add(name: string): void {
    const index = this.#after(name);
    if (this.#names[index - 1] !== name) this.#names.splice(index, 0, name);
  }

  delete(name: string): void {
    const index = this.#after(name) - 1;
    if (this.#names[index] === name) this.#names.splice(index, 1);
  }

  /** How many names come after this one. */
  above(name: string): number {
    return this.#names.length - this.#after(name);
  }

  first(count: number): readonly string[] {
    return this.#names.slice(0, Math.max(0, count));
  }

  *descending(): Generator<string> {
    for (let index = this.#names.length - 1; index >= 0; index--) {
      const name = this.#names[index];
      if (name !== undefined) yield name;
    }
  }

  clear(): void {
    this.#names.length = 0;
  }

  /** Index behind the last name that is not after this one. */
  #after(name: string): number {
    let low = 0;
    let high = this.#names.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#names[middle] ?? "") <= name) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
