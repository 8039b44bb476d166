/** What an event costs, measured and printed. For benches. */

/** Runs it `count` times to warm up and as often again; prints CPU and heap of one run. Wants `--expose-gc`. */
export function printCost(what: string, count: number, run: () => void): void {
  for (let round = 0; round < count; round++) run();
  globalThis.gc?.();
  const heap = process.memoryUsage().heapUsed;
  const started = process.cpuUsage();
  for (let round = 0; round < count; round++) run();
  const { user, system } = process.cpuUsage(started);
  const bytes = process.memoryUsage().heapUsed - heap;
  const allocated = bytes > 0 ? `${Math.round(bytes / count)} B left on the heap` : "collected meanwhile";
  console.log(`${what}: ${((user + system) / count).toFixed(1)} us of CPU an event, ${allocated}`);
}
