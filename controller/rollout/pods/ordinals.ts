/** Ordinals of a workload whose pods are numbered: which are reserved, which are to exist. Spec: statefulset 4.1. */
import type { IntOrString } from "../../../kube/core/index.ts";

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

/**
 * The ordinals that are to exist, ascending: from `start` upward, without the reserved ones (rule 2). What is asked of it
 * costs as much as there are reserved ranges, however many replicas there are.
 */
export class Window implements Iterable<number> {
  readonly start: number;
  readonly size: number;
  readonly reserved: readonly OrdinalRange[];

  /** `reserved`: sorted, without overlaps. */
  constructor(start: number, size: number, reserved: readonly OrdinalRange[]) {
    this.start = start;
    this.size = size;
    this.reserved = reserved;
  }

  /** How many of the window are below the ordinal; undefined when it is not in the window. */
  rankOf(ordinal: number): number | undefined {
    if (ordinal < this.start) return undefined;
    let rank = ordinal - this.start;
    for (const { first, last } of this.reserved) {
      if (first > ordinal) break;
      if (last >= ordinal) return undefined;
      rank -= Math.max(0, last - Math.max(first, this.start) + 1);
    }
    return rank < this.size ? rank : undefined;
  }

  has(ordinal: number): boolean {
    return this.rankOf(ordinal) !== undefined;
  }

  *[Symbol.iterator](): Generator<number> {
    let next = this.start;
    let range = 0;
    for (let left = this.size; left > 0; ) {
      let held = this.reserved[range];
      while (held !== undefined && held.last < next) held = this.reserved[++range];
      if (held !== undefined && held.first <= next) next = held.last + 1;
      else {
        yield next++;
        left--;
      }
    }
  }
}
