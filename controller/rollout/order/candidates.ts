/** Pods that an update may begin with, as a group of an index: in the order of their activity, as far as it is read. */
import type { Pod } from "../../../kube/index.ts";
import { ByActivity, type Placed } from "./order.ts";

export class Candidates<Member extends { readonly pod: Pod }> implements Iterable<Member> {
  readonly #order: ByActivity<Member>;
  readonly #placed = new Map<string, Placed<Member>>();

  /** Those that `goesFirst` names are before all others. Default: none. */
  constructor(goesFirst: (member: Member) => boolean = () => false) {
    this.#order = new ByActivity<Member>(goesFirst);
  }

  get size(): number {
    return this.#order.size;
  }

  add(slot: string, { member }: { readonly member: Member | undefined }): void {
    const before = this.#placed.get(slot);
    if (before !== undefined) this.#order.delete(before);
    if (member !== undefined) this.#placed.set(slot, this.#order.add(member));
  }

  delete(slot: string): void {
    const placed = this.#placed.get(slot);
    if (placed !== undefined) this.#order.delete(placed);
    this.#placed.delete(slot);
  }

  clear(): void {
    this.#order.clear();
    this.#placed.clear();
  }

  [Symbol.iterator](): Iterator<Member> {
    return this.#order[Symbol.iterator]();
  }
}
