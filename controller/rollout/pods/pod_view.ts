/** What a plan sees of the pods of one workload: their classes as of one refresh of the index. */
import type { Pod } from "../../../kube/index.ts";

/** What a slot counts as. */
export interface PodClass<Group extends string, Count extends string, Entry> {
  readonly groups: readonly Group[];
  /** Each as often as it counts. */
  readonly counts: readonly Count[];
  /** What plans see of the slot. */
  readonly entry: Entry;
  /** There is nothing to do: the entry is not kept, but made again for a plan that asks for it. */
  readonly atRest: boolean;
  /** Classified again by the next refresh, whatever happens: time alone changes the class, or it holds for one pass. */
  readonly expires: boolean;
}

/** Slots of one group; plans see more of it: see `SortedSlots`. */
export interface SlotGroup<Entry> {
  /** The slot may be in it already, with another entry. */
  add(slot: string, entry: Entry): void;
  delete(slot: string): void;
  clear(): void;
}

/** Immutable: reading it throws once anything has happened to the index since. */
export interface PodView<Groups, Count extends string, Entry> {
  readonly groups: Groups;
  count(what: Count): number;
  /** What anything is counted as. */
  readonly counted: Iterable<Count>;
  /** Undefined where nothing counts. */
  at(slot: string): Entry | undefined;
  entries(slots: Iterable<string>): Iterable<Entry>;
  /** Those at rest included, in the order of slots. O(slots). */
  every(): Iterable<Entry>;
  /** As they will be after the writes in flight, those that count as nothing included, in no order. O(pods). */
  pods(): readonly Pod[];
}

/** Of slots that have a member or none. */
export function* membersOf<Member>(
  slots: Iterable<{ readonly member: Member | undefined }>,
): Generator<Member> {
  for (const { member } of slots) if (member !== undefined) yield member;
}

/** What a view reads: an index that others change. */
export interface ViewedIndex<Groups, Count extends string, Entry> extends PodView<Groups, Count, Entry> {
  /** Grows with everything that happens to it. */
  readonly version: number;
}

export class VersionedView<Groups, Count extends string, Entry> implements PodView<Groups, Count, Entry> {
  readonly #index: ViewedIndex<Groups, Count, Entry>;
  readonly #version: number;

  constructor(index: ViewedIndex<Groups, Count, Entry>) {
    this.#index = index;
    this.#version = index.version;
  }

  get groups(): Groups {
    return this.#current().groups;
  }

  count(what: Count): number {
    return this.#current().count(what);
  }

  get counted(): Iterable<Count> {
    return this.#current().counted;
  }

  at(slot: string): Entry | undefined {
    return this.#current().at(slot);
  }

  *entries(slots: Iterable<string>): Generator<Entry> {
    for (const slot of slots) {
      const entry = this.at(slot);
      if (entry !== undefined) yield entry;
    }
  }

  *every(): Generator<Entry> {
    for (const entry of this.#current().every()) {
      this.#current();
      yield entry;
    }
  }

  pods(): readonly Pod[] {
    return this.#current().pods();
  }

  #current(): ViewedIndex<Groups, Count, Entry> {
    const { version } = this.#index;
    if (version !== this.#version)
      throw new Error(
        `this view of the pods is stale: it shows version ${this.#version} of the index, which is at ${version}; refresh the index and plan with the new view`,
      );
    return this.#index;
  }
}
