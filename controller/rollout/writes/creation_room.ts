/** How many pods may be decided at a time. */

/**
 * Many times what the client's window takes. Each creation that waits holds the manifest of a pod, and workloads may want a hundred
 * thousand: the rest is decided later.
 */
export const mostCreations = 1_000;

/** Numbers of creations that are under way: decided, and not answered yet. */
export interface Creations {
  readonly ofAll: number;
  /** Of the workload that is planned. */
  readonly own: number;
}

/**
 * More are decided once half of them are through, so that there are always some to send. A workload that waits for none of its own
 * may always have one, whatever others have under way.
 */
export function creationRoom({ ofAll, own }: Creations): number {
  const room = ofAll > mostCreations / 2 ? 0 : mostCreations - ofAll;
  return own === 0 ? Math.max(room, 1) : room;
}
