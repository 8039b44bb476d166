/** How many went well, and the first failure. */
export interface SlowStart {
  readonly succeeded: number;
  readonly failure: { readonly error: unknown } | undefined;
}

/**
 * Writes of a kind in batches of 1, 2, 4, …, none after one that has a failure: what refuses one refuses all, and a mistake
 * in a template shows in the first. `firstBatch`: how many are in the first one.
 */
export async function slowStart<T>(
  items: readonly T[],
  write: (item: T) => Promise<unknown>,
  firstBatch = 1,
): Promise<SlowStart> {
  let succeeded = 0;
  for (let start = 0, size = firstBatch; start < items.length; start += size, size *= 2) {
    const results = await Promise.allSettled(items.slice(start, start + size).map(write));
    const failed = results.filter((result) => result.status === "rejected");
    succeeded += results.length - failed.length;
    const [first] = failed;
    if (first !== undefined) return { succeeded, failure: { error: first.reason } };
  }
  return { succeeded, failure: undefined };
}
