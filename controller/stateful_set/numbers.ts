/** Ordinals and budgets of a StatefulSet in absolute numbers. Spec: statefulset 4.1, 4.4 rule 14, 4.6. */
import { type IntOrString, scaledValue } from "../../kube/core/index.ts";

/** A closed range of ordinals. */
export interface OrdinalRange {
  first: number;
  last: number;
}

const RANGE = /^(\d+)-(\d+)$/;

/** Sorted, without overlaps. One entry that cannot be read makes the list count as empty (rule 3). */
export function reservedRanges(entries: readonly IntOrString[] | undefined): readonly OrdinalRange[] {
  const ranges: OrdinalRange[] = [];
  for (const entry of entries ?? []) {
    const range = typeof entry === "number" ? { first: entry, last: entry } : rangeOf(entry);
    if (range === undefined) return [];
    ranges.push(range);
  }
  ranges.sort((a, b) => a.first - b.first || a.last - b.last);
  const merged: OrdinalRange[] = [];
  for (const range of ranges) {
    const before = merged.at(-1);
    if (before !== undefined && range.first <= before.last + 1)
      before.last = Math.max(before.last, range.last);
    else merged.push({ ...range });
  }
  return merged;
}

function rangeOf(text: string): OrdinalRange | undefined {
  const match = RANGE.exec(text);
  if (match === null) return undefined;
  const range = { first: Number(match[1]), last: Number(match[2]) };
  return range.first <= range.last ? range : undefined;
}

/** The ordinals that are to exist, ascending: from `start` upward, without the reserved ones (rule 2). */
export function windowOf(start: number, replicas: number, reserved: readonly OrdinalRange[]): number[] {
  const ordinals: number[] = [];
  let next = start;
  let range = 0;
  while (ordinals.length < replicas) {
    let held = reserved[range];
    while (held !== undefined && held.last < next) held = reserved[++range];
    if (held !== undefined && held.first <= next) next = held.last + 1;
    else ordinals.push(next++);
  }
  return ordinals;
}

/** A number, or a percentage of the replicas rounded down; at least 1, also for text that is no number. */
export function budgetOf(value: IntOrString | undefined | null, replicas: number): number {
  if (value === undefined || value === null) return 1;
  try {
    return Math.max(1, scaledValue(value, replicas, false));
  } catch {
    return 1;
  }
}
