/** What the status of an object says, with what agents and events say about it: for kinds whose plans are not made here. */
import type { AnyObject } from "../../fields.ts";
import type { Cause } from "../causes/cause.ts";
import type { Facts } from "../causes/facts.ts";
import type { Reader } from "../causes/reader.ts";
import { shownText } from "../causes/shown_text.ts";
import { listed } from "../describe.ts";

export interface Findings {
  /** How far it is, in one line. */
  readonly summary: string;
  readonly causes: readonly Cause[];
  /** It has ended: nothing more comes of it. False: not yet, whatever its counts say. */
  readonly isDone?: boolean;
}

export interface StatusSource {
  readonly group: string;
  readonly kind: string;
  /** It never ends: its causes are problems that it reports, not what it waits for. */
  readonly isLasting: boolean;
  /** Reasons of events of which its causes say more. */
  readonly events?: readonly string[];
  find(reader: Reader, object: AnyObject, facts: Facts): Promise<Findings>;
}

interface StatusSourceParts<Related> extends Omit<StatusSource, "find"> {
  /** Reads the objects beside it that `explain` needs. */
  read(reader: Reader, object: AnyObject): Promise<Related>;
  /** Pure; never throws, whatever the objects hold. */
  explain(object: AnyObject, related: Related, facts: Facts): Findings;
}

export function statusSource<Related>({ read, explain, ...kind }: StatusSourceParts<Related>): StatusSource {
  return {
    ...kind,
    find: async (reader, object, facts) => explain(object, await read(reader, object), facts),
  };
}

/** One cause for all items that have the same key, in the order in which the keys come first. */
export function groupedCauses<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  causeOf: (first: T, all: readonly T[]) => Cause,
): Cause[] {
  return [...Map.groupBy(items, keyOf).values()].flatMap((all) => {
    const [first] = all;
    return first === undefined ? [] : [causeOf(first, all)];
  });
}

/** ` (a, b and 3 more)`; nothing for no names. */
export function named(names: readonly string[]): string {
  return names.length === 0 ? "" : ` (${listed(names.map((name) => shownText(name)))})`;
}

/** The earliest of some times; undefined where none is known. */
export function earliestOf(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
