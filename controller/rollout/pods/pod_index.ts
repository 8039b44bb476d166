/**
 * What the pods of one workload count as, kept up from event to event. Pods are looked at slot by slot: a slot is the name
 * of a pod, or of a node with all its pods. It is classified when something happens to it (a pod, a node, a claim, a write
 * in flight), so that a pass costs what has changed and what there is to do, however many pods there are. Of most slots
 * there is nothing to do: of those the class alone is kept, in which most are alike.
 */
import type { Pod } from "../../../kube/index.ts";
import type { PendingPods } from "../writes/pending_pods.ts";

/** The pods of one workload as the server last showed them. */
export interface StoredPods {
  slotOf(pod: Pod): string;
  at(slot: string): readonly Pod[];
  slots(): Iterable<string>;
  /** One pod has another state now; undefined: there was or is none. */
  replace(before: Pod | undefined, after: Pod | undefined): void;
}

export interface SlotPods {
  readonly slot: string;
  readonly stored: readonly Pod[];
  /** Pods as they will be after the writes in flight, by the writes' ids. */
  readonly writes: ReadonlyMap<string, Pod>;
}

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

export interface Classifier<Context, Group extends string, Count extends string, Entry> {
  /** The order of slots. Default: by text. */
  readonly compare?: (a: string, b: string) => number;
  /** Slots that count as something even without a pod. */
  slots(context: Context): Iterable<string>;
  /** What classes depend on besides the slot and what happens to it: every slot is classified again when it changes. */
  basisOf(context: Context): string;
  /** Undefined: the slot counts as nothing. */
  classify(pods: SlotPods, context: Context): PodClass<Group, Count, Entry> | undefined;
}

/** Slots of one group; plans see more of it: see `SortedSlots`. */
interface SlotGroup<Entry> {
  /** The slot may be in it already, with another entry. */
  add(slot: string, entry: Entry): void;
  delete(slot: string): void;
  clear(): void;
}

/** What a plan sees: good until the next event. */
export interface PodView<Groups, Count extends string, Entry> {
  readonly groups: Groups;
  count(what: Count): number;
  /** What anything is counted as. */
  readonly counted: Iterable<Count>;
  /** Undefined where nothing counts. */
  at(slot: string): Entry | undefined;
  entries(slots: Iterable<string>): Iterable<Entry>;
  /** Those at rest included, in the order of slots. Costs as much as there are slots. */
  every(): Iterable<Entry>;
}

/** What is kept of each slot. Equal ones are one object, because thousands of slots share a few. */
interface Kept<Groups, Count> {
  readonly groups: readonly (keyof Groups & string)[];
  readonly counts: readonly Count[];
}

const noWrites: ReadonlyMap<string, Pod> = new Map();

export class PodIndex<
  Context,
  Groups extends Readonly<Record<keyof Groups, SlotGroup<Entry>>>,
  Count extends string,
  Entry,
> implements PodView<Groups, Count, Entry>
{
  readonly groups: Groups;
  readonly #stored: StoredPods;
  readonly #pending: () => PendingPods;
  readonly #classifier: Classifier<Context, keyof Groups & string, Count, Entry>;
  /** By slot, then by the write's id. */
  readonly #writes = new Map<string, Map<string, Pod>>();
  /** The same by id alone, as last shown. */
  readonly #inFlight = new Map<string, Pod>();
  #followed: { readonly pending: PendingPods; readonly version: number } | undefined;
  readonly #touched = new Set<string>();
  readonly #expiring = new Set<string>();
  readonly #classes = new Map<string, Kept<Groups, Count>>();
  /** Of slots that are not at rest. */
  readonly #entries = new Map<string, Entry>();
  /** Classes by their text; the one that was asked for last; and how many slots each has. */
  readonly #known = new Map<string, Kept<Groups, Count>>();
  #latest: Kept<Groups, Count> | undefined;
  readonly #sizes = new Map<Kept<Groups, Count>, number>();
  /** What all slots count as together; undefined: to be summed up. */
  #sums: ReadonlyMap<Count, number> | undefined;
  #basis: string | undefined;
  /** As the last refresh does it. */
  #classify: (slot: string) => PodClass<keyof Groups & string, Count, Entry> | undefined = () => undefined;

  constructor(
    stored: StoredPods,
    pending: () => PendingPods,
    classifier: Classifier<Context, keyof Groups & string, Count, Entry>,
    groups: Groups,
  ) {
    this.#stored = stored;
    this.#pending = pending;
    this.#classifier = classifier;
    this.groups = groups;
  }

  /** Something that its class depends on has changed. */
  touch(slot: string): void {
    this.#touched.add(slot);
  }

  /** The server shows another state of a pod; undefined: there was or is none. */
  podChanged(before: Pod | undefined, after: Pod | undefined): void {
    this.#stored.replace(before, after);
    for (const pod of [before, after]) if (pod !== undefined) this.touch(this.#stored.slotOf(pod));
  }

  /** Brings everything up to now. A refresh that fails in its midst forgets nothing: the next one goes on. */
  refresh(context: Context): PodView<Groups, Count, Entry> {
    this.#follow(this.#pending());
    this.#classify = (slot) => {
      const pods = { slot, stored: this.#stored.at(slot), writes: this.#writes.get(slot) ?? noWrites };
      return this.#classifier.classify(pods, context);
    };
    const basis = this.#classifier.basisOf(context);
    if (basis !== this.#basis) this.#restart(basis, context);
    for (const slot of this.#expiring) this.#touched.add(slot);
    // In their order groups are extended at their end, where that costs least.
    const touched = [...this.#touched].sort(this.#classifier.compare);
    for (const slot of touched) this.#reclassify(slot);
    this.#touched.clear();
    return this;
  }

  count(what: Count): number {
    return this.#counts().get(what) ?? 0;
  }

  get counted(): Iterable<Count> {
    return this.#counts().keys();
  }

  at(slot: string): Entry | undefined {
    const kept = this.#entries.get(slot);
    return kept ?? (this.#classes.has(slot) ? this.#classify(slot)?.entry : undefined);
  }

  *entries(slots: Iterable<string>): Generator<Entry> {
    for (const slot of slots) {
      const entry = this.at(slot);
      if (entry !== undefined) yield entry;
    }
  }

  every(): Iterable<Entry> {
    return this.entries([...this.#classes.keys()].sort(this.#classifier.compare));
  }

  #reclassify(slot: string): void {
    const found = this.#classify(slot);
    if (found?.expires) this.#expiring.add(slot);
    else this.#expiring.delete(slot);
    const before = this.#classes.get(slot);
    const kept = found && this.#likeOthers(found);
    for (const group of before?.groups ?? [])
      if (!kept?.groups.includes(group)) this.groups[group].delete(slot);
    if (before !== undefined) this.#resize(before, -1);
    // Maps of thousands are written over where that is possible: a place that is left and taken again costs them more.
    if (found === undefined || kept === undefined) {
      this.#classes.delete(slot);
      this.#entries.delete(slot);
      return;
    }
    if (kept !== before) this.#classes.set(slot, kept);
    if (!found.atRest) this.#entries.set(slot, found.entry);
    else this.#entries.delete(slot);
    for (const group of kept.groups) this.groups[group].add(slot, found.entry);
    this.#resize(kept, 1);
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

  #restart(basis: string, context: Context): void {
    this.#basis = basis;
    this.#classes.clear();
    this.#entries.clear();
    this.#expiring.clear();
    this.#known.clear();
    this.#latest = undefined;
    this.#sizes.clear();
    this.#sums = undefined;
    for (const group in this.groups) this.groups[group].clear();
    for (const slots of [this.#stored.slots(), this.#writes.keys(), this.#classifier.slots(context)]) {
      for (const slot of slots) this.#touched.add(slot);
    }
  }

  /** Takes over which writes are in flight now: those that changed, when the same were followed before. */
  #follow(pending: PendingPods): void {
    const { version } = pending;
    const changed =
      this.#followed?.pending === pending ? pending.changesSince(this.#followed.version) : undefined;
    for (const id of changed ?? [...this.#inFlight.keys(), ...pending.keys()]) {
      const [before, after] = [this.#inFlight.get(id), pending.get(id)];
      if (before === after) continue;
      if (before !== undefined) this.#ended(id, before);
      if (after !== undefined) this.#begun(id, after);
    }
    this.#followed = { pending, version };
  }

  #begun(id: string, pod: Pod): void {
    const slot = this.#stored.slotOf(pod);
    this.touch(slot);
    this.#inFlight.set(id, pod);
    const there = this.#writes.get(slot);
    if (there === undefined) this.#writes.set(slot, new Map([[id, pod]]));
    else there.set(id, pod);
  }

  #ended(id: string, pod: Pod): void {
    const slot = this.#stored.slotOf(pod);
    this.touch(slot);
    this.#inFlight.delete(id);
    const there = this.#writes.get(slot);
    there?.delete(id);
    if (there?.size === 0) this.#writes.delete(slot);
  }
}

function isAlike(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, index) => word === b[index]);
}
