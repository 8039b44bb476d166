import type { SortedSlots } from "../../rollout/pods/sorted_slots.ts";

/** Pods of the window that count against maxUnavailable, those that a pass takes away among them: rule 20. */
export class Unavailable {
  readonly #before: SortedSlots;
  readonly #added = new Set<string>();

  constructor(before: SortedSlots) {
    this.#before = before;
  }

  get size(): number {
    return this.before + this.added;
  }

  get before(): number {
    return this.#before.size;
  }

  /** Taken away by the pass. */
  get added(): number {
    return this.#added.size;
  }

  has(pod: string): boolean {
    return this.#added.has(pod) || this.#before.has(pod);
  }

  add(pod: string): void {
    if (!this.#before.has(pod)) this.#added.add(pod);
  }

  first(count: number): readonly string[] {
    return [...this.#before.first(count), ...this.#added].slice(0, count);
  }
}
