/** How long this process has known what admission has let pass: dates are of the clock of whichever replica answered. */
import { notAhead, timeOf } from "../../kube/core/index.ts";
import type { Clock } from "../../kube/index.ts";

/** Of a status: what was let pass, by name, and when, by some replica's clock. */
export interface DatedEntry {
  readonly name: string;
  readonly date: string;
}

/** For how long the entry has been known, in milliseconds. */
export type KnownFor = (entry: DatedEntry) => number;

export interface HeldEntry {
  /** Its date, or now where that lies ahead. */
  readonly at: string;
  /** Milliseconds; not above 0 when it is over. */
  readonly leftMs: number;
}

/**
 * What is left of the `forMs` (milliseconds) of an entry: by its date, and by how long it has been known, so that a clock that is ahead
 * of the one that dated it does not give away twice what it holds.
 */
export function heldEntry(
  { name, date }: DatedEntry,
  forMs: number,
  { now, knownFor }: { readonly now: number; readonly knownFor: KnownFor },
): HeldEntry {
  const at = notAhead(date, now);
  return { at, leftMs: forMs - Math.min(now - (timeOf(at) ?? 0), knownFor({ name, date })) };
}

export class KnownEntries {
  readonly #clock: Pick<Clock, "monotonic">;
  /** By key of the object: since when (monotonic) each entry of its status. */
  readonly #since = new Map<string, ReadonlyMap<string, number>>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Of all entries of the object's status, given as `maps` of dates by name. Those that are not in it are forgotten. */
  ages(key: string, maps: readonly (Readonly<Record<string, string>> | undefined)[]): KnownFor {
    const now = this.#clock.monotonic();
    const before = this.#since.get(key);
    const ids = maps.flatMap((dates = {}) =>
      Object.entries(dates).map(([name, date]) => idOf({ name, date })),
    );
    const since = new Map(ids.map((id) => [id, before?.get(id) ?? now]));
    if (since.size === 0) this.#since.delete(key);
    else this.#since.set(key, since);
    return (entry) => now - (since.get(idOf(entry)) ?? now);
  }

  forget(key: string): void {
    this.#since.delete(key);
  }
}

function idOf({ name, date }: DatedEntry): string {
  return `${name} ${date}`;
}
