/** Many requests, a bounded number of them at once. */

/** Calls `run` for each item, at most `most` at once. The first failure ends it; what is under way is awaited. */
export async function eachInFlight<T>(
  items: Iterable<T>,
  most: number,
  run: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  const source = items[Symbol.iterator]();
  let index = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
    while (!failed) {
      const next = source.next();
      if (next.done === true) return;
      try {
        await run(next.value, index++);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.max(1, most) }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
