/**
 * Waits between tries that fail. A server that refuses, or is overwhelmed, is left alone for ever longer. One that is
 * not there loses nothing by being asked, and its clients are to be back soon after it is: they ask every few seconds
 * however long it was away. Neither kind of failure lengthens the wait after the other: a server that has just come
 * back and refuses for a moment is not made to pay for its absence.
 */
import { isKubeError } from "./errors.ts";

export interface Failures {
  /** In a row, all of one kind. */
  readonly count: number;
  /** Nothing served the request: no connection, or an answer that nobody is there (502, 503). */
  readonly unreached: boolean;
}

export interface BackoffBounds {
  /** After the first failure; it doubles from there. Milliseconds. */
  readonly firstMs: number;
  readonly longestMs: number;
}

export const noFailures: Failures = { count: 0, unreached: false };

/** Longest wait for a server that is away, milliseconds, before chance is added. */
const longestUnreachedMs = 5_000;

function isUnreached(error: unknown): boolean {
  return isKubeError(error, "Network", "Unavailable");
}

export function oneMore(before: Failures, error: unknown): Failures {
  const unreached = isUnreached(error);
  return { count: before.unreached === unreached ? before.count + 1 : 1, unreached };
}

/** Milliseconds to wait after these failures; 0 after none. */
export function backoffMs({ count, unreached }: Failures, { firstMs, longestMs }: BackoffBounds): number {
  if (count <= 0) return 0;
  const longest = unreached ? Math.min(longestMs, longestUnreachedMs) : longestMs;
  return Math.min(firstMs * 2 ** Math.min(count - 1, 52), longest);
}
