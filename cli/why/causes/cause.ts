/** Why something does not get on, beyond what the controller's plan knows. */
import type { Waiting } from "../../../controller/index.ts";

/**
 * What becomes of a reason if nobody does anything. `stuck`: it stays. `moving`: time, or what is under way, ends it.
 * `held`: it follows from the rollout's own settings, or from other reasons.
 */
export type Outlook = "stuck" | "moving" | "held";

export interface Cause extends Waiting {
  readonly outlook: Outlook;
  /** Milliseconds since the epoch; undefined where nothing says since when. */
  readonly since?: number | undefined;
  /** The command that shows more, or ends it. */
  readonly next?: string | undefined;
  /** The controller itself cannot act: what its plan says comes next does not happen. */
  readonly stopsController?: true;
}

/** Those that hold. */
export function holding(causes: readonly (Cause | undefined)[]): Cause[] {
  return causes.filter((cause) => cause !== undefined);
}

/** What needs somebody first, then what is under way, then what follows from the others; else in the order given. */
export function ranked(causes: readonly Cause[]): Cause[] {
  const ranks: Readonly<Record<Outlook, number>> = { stuck: 0, moving: 1, held: 2 };
  return causes.toSorted((a, b) => ranks[a.outlook] - ranks[b.outlook]);
}

/** Whether nothing goes on without somebody's help. `isIdle`: the controller's plan has nothing to do. */
export function isStuck(causes: readonly Cause[], isIdle: boolean): boolean {
  const stuck = causes.filter(({ outlook }) => outlook === "stuck");
  if (stuck.some(({ stopsController }) => stopsController)) return true;
  return isIdle && stuck.length > 0 && causes.every(({ outlook }) => outlook !== "moving");
}
