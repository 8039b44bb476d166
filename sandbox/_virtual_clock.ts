/** Time for unit tests of simulated components: stands still until told, fires timers synchronously. */
import type { Clock } from "../kube/core/index.ts";

interface VirtualClock extends Clock {
  /** Fires all that is due within `ms`, in order of time. */
  advance(ms: number): void;
  /** Advances in small steps until `done`; throws when that takes longer than `withinMs`. */
  until(done: () => boolean, withinMs?: number): void;
  readonly pending: number;
}

export function virtualClock(startMs = Date.UTC(2026, 0, 1)): VirtualClock {
  let elapsed = 0;
  let order = 0;
  const waiting = new Set<{ at: number; order: number; run: () => void }>();
  const nextUp = (limit: number) => {
    let best: { at: number; order: number; run: () => void } | undefined;
    for (const timer of waiting) {
      if (timer.at > limit) continue;
      if (!best || timer.at < best.at || (timer.at === best.at && timer.order < best.order)) best = timer;
    }
    return best;
  };
  const after: Clock["after"] = (ms, run) => {
    const timer = { at: elapsed + Math.max(0, ms), order: order++, run };
    waiting.add(timer);
    return { cancel: () => waiting.delete(timer) };
  };
  const advance = (ms: number): void => {
    const end = elapsed + ms;
    for (let due = nextUp(end); due; due = nextUp(end)) {
      waiting.delete(due);
      elapsed = Math.max(elapsed, due.at);
      due.run();
    }
    elapsed = end;
  };
  return {
    now: () => startMs + elapsed,
    monotonic: () => elapsed,
    after,
    sleep: (ms) => new Promise((resolve) => after(ms, () => resolve())),
    advance,
    until(done, withinMs = 60_000) {
      const end = elapsed + withinMs;
      advance(0);
      while (!done()) {
        if (elapsed >= end) throw new Error(`not reached within ${withinMs} ms of virtual time`);
        advance(1);
      }
    },
    get pending() {
      return waiting.size;
    },
  };
}
