/**
 * How long what happens to pods may wait for more of its kind, by how many pods it is about. Whoever sees a pod of a small
 * workload finds it in the status within 50 ms: gathering before the plan and the pause between two writes of the status
 * run at the same time, and the rest of the 50 ms is for the requests. Large workloads change all the time: there, many
 * changes go into one plan and one write.
 */

/** A workload of at most so many pods is small. */
export const SMALL_SIZE = 100;

/** Between a plan and the next one that events ask for, at most; milliseconds. */
export function longestGatheringMs(size: number): number {
  return Math.min(250, Math.max(SMALL_SIZE, size) / 10);
}

/** Between the starts of two writes of a status that churns; milliseconds. */
export function statusPauseMs(size: number): number {
  return size <= SMALL_SIZE ? 25 : Math.min(1000, size / 2);
}
