/** Contract of the cache: one writer (the watch and write-backs), many readers. */

/** What reconcilers see of a cache. */
export interface Reader<T> {
  get(key: string): T | undefined;
  /** Objects whose index function returned `value`; iteration order is unspecified. Cost is that of the answer. */
  byIndex(index: string, value: string): Iterable<T>;
  values(): Iterable<T>;
  readonly size: number;
}

export type Change<T> =
  | { readonly type: "added"; readonly object: T }
  | { readonly type: "changed"; readonly object: T; readonly before: T }
  | { readonly type: "removed"; readonly object: T };
