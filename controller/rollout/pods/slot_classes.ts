/** What each slot of an index counts as, and what all of them count as together. */
import type { Pod } from "../../../kube/index.ts";
import type { PodClass, SlotGroup, ViewedIndex } from "./pod_view.ts";

/** What is kept of each slot. Equal ones are one object, because thousands of slots share a few. */
interface Kept<Groups, Count> {
  readonly groups: readonly (keyof Groups & string)[];
  readonly counts: readonly Count[];
}

export class SlotClasses<
  Groups extends Readonly<Record<keyof Groups, SlotGroup<Entry>>>,
  Count extends string,
  Entry,
> implements ViewedIndex<Groups, Count, Entry>
{
  readonly groups: Groups;
  /** As the last refresh does it. */
  classify: (slot: string) => PodClass<keyof Groups & string, Count, Entry> | undefined = () => undefined;
  readonly pods: () => readonly Pod[];
  readonly #compare: ((a: string, b: string) => number) | undefined;
  readonly #classes = new Map<string, Kept<Groups, Count>>();
  /** Of slots that are not at rest. */
  readonly #entries = new Map<string, Entry>();
  /** Classes by their text; the one that was asked for last; and how many slots each has. */
  readonly #known = new Map<string, Kept<Groups, Count>>();
  #latest: Kept<Groups, Count> | undefined;
  readonly #sizes = new Map<Kept<Groups, Count>, number>();
  /** What all slots count as together; undefined: to be summed up. */
  #sums: ReadonlyMap<Count, number> | undefined;
  #version = 0;

  /** `compare`: the order of slots; default: by text. */
  constructor(
    groups: Groups,
    compare: ((a: string, b: string) => number) | undefined,
    pods: () => readonly Pod[],
  ) {
    this.groups = groups;
    this.#compare = compare;
    this.pods = pods;
  }

  get version(): number {
    return this.#version;
  }

  /** Views of before are stale. */
  changed(): void {
    this.#version++;
  }

  clear(): void {
    this.#classes.clear();
    this.#entries.clear();
    this.#known.clear();
    this.#latest = undefined;
    this.#sizes.clear();
    this.#sums = undefined;
    for (const group in this.groups) this.groups[group].clear();
  }

  count(what: Count): number {
    return this.#counts().get(what) ?? 0;
  }

  get counted(): Iterable<Count> {
    return this.#counts().keys();
  }

  at(slot: string): Entry | undefined {
    const kept = this.#entries.get(slot);
    return kept ?? (this.#classes.has(slot) ? this.classify(slot)?.entry : undefined);
  }

  *entries(slots: Iterable<string>): Generator<Entry> {
    for (const slot of slots) {
      const entry = this.at(slot);
      if (entry !== undefined) yield entry;
    }
  }

  every(): Iterable<Entry> {
    return this.entries([...this.#classes.keys()].sort(this.#compare));
  }

  reclassify(slot: string): PodClass<keyof Groups & string, Count, Entry> | undefined {
    const found = this.classify(slot);
    const before = this.#classes.get(slot);
    const kept = found && this.#likeOthers(found);
    for (const group of before?.groups ?? [])
      if (!kept?.groups.includes(group)) this.groups[group].delete(slot);
    if (before !== undefined) this.#resize(before, -1);
    // Maps of thousands are written over where that is possible: a place that is left and taken again costs them more.
    if (found === undefined || kept === undefined) {
      this.#classes.delete(slot);
      this.#entries.delete(slot);
      return found;
    }
    if (kept !== before) this.#classes.set(slot, kept);
    if (!found.atRest) this.#entries.set(slot, found.entry);
    else this.#entries.delete(slot);
    for (const group of kept.groups) this.groups[group].add(slot, found.entry);
    this.#resize(kept, 1);
    return found;
  }

  #resize(kept: Kept<Groups, Count>, by: 1 | -1): void {
    const size = (this.#sizes.get(kept) ?? 0) + by;
    if (size === 0) this.#sizes.delete(kept);
    else this.#sizes.set(kept, size);
    this.#sums = undefined;
  }

  #counts(): ReadonlyMap<Count, number> {
    if (this.#sums !== undefined) return this.#sums;
    const sums = new Map<Count, number>();
    for (const [{ counts }, size] of this.#sizes)
      for (const what of counts) sums.set(what, (sums.get(what) ?? 0) + size);
    this.#sums = sums;
    return sums;
  }

  #likeOthers({ groups, counts }: Kept<Groups, Count>): Kept<Groups, Count> {
    const latest = this.#latest;
    if (latest && isAlike(latest.groups, groups) && isAlike(latest.counts, counts)) return latest;
    const text = `${groups.join()} ${counts.join()}`;
    const kept = this.#known.get(text) ?? { groups, counts };
    this.#known.set(text, kept);
    this.#latest = kept;
    return kept;
  }
}

function isAlike(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, index) => word === b[index]);
}
