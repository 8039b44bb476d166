/** What a page saw, so that it can go back. What is too much is forgotten from the beginning. */
import { applyChange, type Change, difference, isEmptyChange } from "./differences.ts";

interface Step<T> {
  readonly forth: Change<T>;
  readonly back: Change<T>;
}

export class Recording<T> {
  readonly #most: number;
  readonly #steps: Step<T>[] = [];
  /** The newest state. */
  readonly #now = new Map<string, T>();
  /** The state after the first `#cursor` steps. */
  readonly #shown = new Map<string, T>();
  #cursor = 0;
  #size = 0;
  #startedAt: number | undefined;

  /** `most`: items that all changes together may hold. */
  constructor(most = 300_000) {
    this.#most = most;
  }

  get now(): ReadonlyMap<string, T> {
    return this.#now;
  }

  /** Times of the oldest and the newest state that can be shown; undefined before the first change. */
  get span(): { readonly from: number; readonly to: number } | undefined {
    if (this.#startedAt === undefined) return undefined;
    return { from: this.#startedAt, to: this.#steps.at(-1)?.forth.at ?? this.#startedAt };
  }

  /** Times of the first and the last change after the oldest state; undefined when there is none. */
  get changes(): { readonly first: number; readonly last: number } | undefined {
    const [first, last] = [this.#steps[0], this.#steps.at(-1)];
    return first && last && { first: first.forth.at, last: last.forth.at };
  }

  /** A whole state that comes when the server is back is recorded as what is different. */
  add(change: Change<T>): void {
    if (this.#startedAt === undefined) {
      this.#startedAt = change.at;
      // There is nothing to be different from, and thousands of items are waited for.
      for (const [key, item] of change.put) {
        this.#now.set(key, item);
        this.#shown.set(key, item);
      }
      return;
    }
    const at = Math.max(change.at, this.span?.to ?? 0);
    const parts = change.isWhole ? difference(this.#now, new Map(change.put), at) : { ...change, at };
    if (isEmptyChange(parts)) return;
    const back = applyChange(this.#now, parts);
    this.#steps.push({ forth: parts, back });
    this.#size += sizeOf(parts) + sizeOf(back);
    this.#forget();
  }

  /** The state as it was at a time. The map is the recording's own and changes with the next call. */
  stateAt(at: number): ReadonlyMap<string, T> {
    for (;;) {
      const next = this.#steps[this.#cursor];
      if (next === undefined || next.forth.at > at) break;
      applyChange(this.#shown, next.forth);
      this.#cursor++;
    }
    for (;;) {
      const last = this.#steps[this.#cursor - 1];
      if (last === undefined || last.forth.at <= at) break;
      applyChange(this.#shown, last.back);
      this.#cursor--;
    }
    return this.#shown;
  }

  #forget(): void {
    if (this.#size <= this.#most) return;
    let count = 0;
    while (this.#size > this.#most / 2 && count < this.#steps.length - 1) {
      const step = this.#steps[count++];
      if (step === undefined) break;
      this.#size -= sizeOf(step.forth) + sizeOf(step.back);
      this.#startedAt = step.forth.at;
    }
    for (; this.#cursor < count; this.#cursor++) {
      const step = this.#steps[this.#cursor];
      if (step !== undefined) applyChange(this.#shown, step.forth);
    }
    this.#steps.splice(0, count);
    this.#cursor -= count;
  }
}

const sizeOf = ({ put, gone }: Change<unknown>): number => put.length + gone.length;
