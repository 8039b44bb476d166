/**
 * What the pods of one workload count as, kept up from event to event. Pods are looked at slot by slot: a slot is the name
 * of a pod, or of a node with all its pods. It is classified when something happens to it (a pod, a node, a claim, a write
 * in flight), so that a pass costs what has changed and what there is to do, however many pods there are. Of most slots
 * there is nothing to do: of those the class alone is kept, in which most are alike.
 */
import type { Pod } from "../../../kube/index.ts";
import { overlay } from "../writes/overlay.ts";
import type { PendingPods } from "../writes/pending_pods.ts";
import { type PodClass, type PodView, type SlotGroup, VersionedView } from "./pod_view.ts";
import { SlotClasses } from "./slot_classes.ts";

/** The pods of one workload as the server last showed them. */
export interface StoredPods {
  slotOf(pod: Pod): string;
  at(slot: string): readonly Pod[];
  slots(): Iterable<string>;
  /** In no order. */
  pods(): Iterable<Pod>;
  /** One pod has another state now; undefined: there was or is none. */
  replace(before: Pod | undefined, after: Pod | undefined): void;
}

export interface SlotPods {
  readonly slot: string;
  readonly stored: readonly Pod[];
  /** Pods as they will be after the writes in flight, by the writes' ids. */
  readonly writes: ReadonlyMap<string, Pod>;
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

const noWrites: ReadonlyMap<string, Pod> = new Map();

export class PodIndex<
  Context,
  Groups extends Readonly<Record<keyof Groups, SlotGroup<Entry>>>,
  Count extends string,
  Entry,
> {
  readonly #stored: StoredPods;
  readonly #pending: () => PendingPods;
  readonly #classifier: Classifier<Context, keyof Groups & string, Count, Entry>;
  readonly #classes: SlotClasses<Groups, Count, Entry>;
  /** By slot, then by the write's id. */
  readonly #writes = new Map<string, Map<string, Pod>>();
  /** The same by id alone, as last shown. */
  readonly #inFlight = new Map<string, Pod>();
  #followed: { readonly pending: PendingPods; readonly version: number } | undefined;
  readonly #touched = new Set<string>();
  readonly #expiring = new Set<string>();
  #basis: string | undefined;

  constructor(
    stored: StoredPods,
    pending: () => PendingPods,
    classifier: Classifier<Context, keyof Groups & string, Count, Entry>,
    groups: Groups,
  ) {
    this.#stored = stored;
    this.#pending = pending;
    this.#classifier = classifier;
    this.#classes = new SlotClasses(groups, classifier.compare, () => overlay([...stored.pods()], pending()));
  }

  /** Something that its class depends on has changed. */
  touch(slot: string): void {
    this.#touched.add(slot);
    this.#classes.changed();
  }

  /** The server shows another state of a pod; undefined: there was or is none. */
  podChanged(before: Pod | undefined, after: Pod | undefined): void {
    this.#stored.replace(before, after);
    for (const pod of [before, after]) if (pod !== undefined) this.touch(this.#stored.slotOf(pod));
  }

  /**
   * Brings everything up to now. The view is good until the next event or refresh. A refresh that fails in its midst forgets
   * nothing: the next one goes on.
   */
  refresh(context: Context): PodView<Groups, Count, Entry> {
    this.#follow(this.#pending());
    const classes = this.#classes;
    classes.changed();
    classes.classify = (slot) => {
      const pods = { slot, stored: this.#stored.at(slot), writes: this.#writes.get(slot) ?? noWrites };
      return this.#classifier.classify(pods, context);
    };
    const basis = this.#classifier.basisOf(context);
    if (basis !== this.#basis) this.#restart(basis, context);
    for (const slot of this.#expiring) this.#touched.add(slot);
    // In their order groups are extended at their end, where that costs least.
    const touched = [...this.#touched].sort(this.#classifier.compare);
    for (const slot of touched) {
      if (classes.reclassify(slot)?.expires) this.#expiring.add(slot);
      else this.#expiring.delete(slot);
    }
    this.#touched.clear();
    return new VersionedView(classes);
  }

  #restart(basis: string, context: Context): void {
    this.#basis = basis;
    this.#classes.clear();
    this.#expiring.clear();
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
