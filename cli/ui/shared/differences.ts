/** Differences between states, where a state is a map of items that never change themselves. */

export interface Change<T> {
  /** Milliseconds since the epoch, by the server's clock. */
  readonly at: number;
  /** It is the whole state, and what was before is not there any more. */
  readonly isWhole?: true;
  readonly put: readonly (readonly [key: string, item: T])[];
  readonly gone: readonly string[];
}

export function isEmptyChange({ put, gone, isWhole }: Change<unknown>): boolean {
  return put.length === 0 && gone.length === 0 && isWhole !== true;
}

/** Changes the state, and returns the change that takes it back. */
export function applyChange<T>(state: Map<string, T>, { at, isWhole, put, gone }: Change<T>): Change<T> {
  const before = new Map<string, T | undefined>();
  const named = new Set(put.map(([key]) => key));
  const leaving = isWhole ? [...state.keys()].filter((key) => !named.has(key)) : gone;
  for (const key of leaving) {
    before.set(key, state.get(key));
    state.delete(key);
  }
  for (const [key, item] of put) {
    if (!before.has(key)) before.set(key, state.get(key));
    state.set(key, item);
  }
  const back: (readonly [string, T])[] = [];
  const added: string[] = [];
  for (const [key, item] of before) {
    if (item !== undefined) back.push([key, item]);
    else if (state.has(key)) added.push(key);
  }
  return { at, put: back, gone: added };
}

/** What leads from one state to the other. Items that are the same object, or have the same JSON, are equal. */
export function difference<T>(
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
  at: number,
): Change<T> {
  const put = [...after].filter(([key, item]) => !isSameItem(before.get(key), item));
  return { at, put, gone: [...before.keys()].filter((key) => !after.has(key)) };
}

/** Items are made by one function each, so that equal ones have their members in the same order. */
export function isSameItem(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  return a !== undefined && b !== undefined && JSON.stringify(a) === JSON.stringify(b);
}

/** Changes of one batch: of each key only the last counts. */
export class Batch<T> {
  readonly #put = new Map<string, T>();
  readonly #gone = new Set<string>();

  put(key: string, item: T): void {
    this.#gone.delete(key);
    this.#put.set(key, item);
  }

  remove(key: string): void {
    this.#put.delete(key);
    this.#gone.add(key);
  }

  /** The change, after which the batch is empty. */
  take(at: number): Change<T> {
    const change = { at, put: [...this.#put], gone: [...this.#gone] };
    this.#put.clear();
    this.#gone.clear();
    return change;
  }
}
