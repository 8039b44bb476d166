/** A binary heap: at its top is what goes before all others. Of those that go alike, any. */
export class Heap<T extends object> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  get top(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    let index = this.#items.length;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = this.#items[above];
      if (!parent || !this.#before(item, parent)) break;
      this.#items[index] = parent;
      index = above;
    }
    this.#items[index] = item;
  }

  /** Takes the top away. */
  pop(): void {
    const items = this.#items;
    const last = items.pop();
    if (!last || items.length === 0) return;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const first = items[left];
      const second = items[left + 1];
      const child = first && second && this.#before(second, first) ? second : first;
      if (!child || !this.#before(child, last)) break;
      items[index] = child;
      index = child === first ? left : left + 1;
    }
    items[index] = last;
  }

  clear(): void {
    this.#items.length = 0;
  }
}
