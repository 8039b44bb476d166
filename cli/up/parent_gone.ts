/** Whoever started this process is gone: a shell that was closed, npm that was ended, a script that died. */
import type { Clock } from "../../kube/index.ts";

const lookEveryMs = 1_000;

/** `parentOf`: the id of this process's parent, now. Resolves when it is another one than at first; never for what init has started. */
export async function parentGone(parentOf: () => number, clock: Clock, signal: AbortSignal): Promise<void> {
  const parent = parentOf();
  if (parent <= 1) return new Promise(() => undefined);
  while (parentOf() === parent) await clock.sleep(lookEveryMs, signal);
}
