/** How many pods may be decided at a time. */

/**
 * Many times what the client's window takes. Each creation that waits holds the manifest of a pod, and workloads may want a hundred
 * thousand: the rest is decided later.
 */
export const mostCreations = 1_000;

/**
 * `underWay`: creations of all workloads that are decided and not answered yet; `waits`: some of them are of the workload that is
 * planned. More are decided once half of them are through, so that there are always some to send. A workload that waits for none of its own
 * may always have one, whatever others have under way.
 */
export function creationRoom(underWay: number, waits: boolean): number {
  const room = underWay > mostCreations / 2 ? 0 : mostCreations - underWay;
  return waits ? room : Math.max(room, 1);
}
