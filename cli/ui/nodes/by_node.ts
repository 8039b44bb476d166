/** Objects by the node that they are on. */
import { type Change, sidesOf } from "../../../kube/index.ts";
import type { Kept } from "../watching/follow_resource.ts";

export class ByNode<T extends { readonly node: string }> {
  readonly #objects = new Map<string, Map<string, T>>();

  get nodes(): Iterable<string> {
    return this.#objects.keys();
  }

  of(node: string): Iterable<T> {
    return this.#objects.get(node)?.values() ?? [];
  }

  count(node: string): number {
    return this.#objects.get(node)?.size ?? 0;
  }

  /** Returns the nodes of which something changed. */
  take(change: Change<Kept<T>>): string[] {
    const { before, after } = sidesOf(change);
    const [old, now] = [before?.item?.node, after?.item?.node];
    if (before !== undefined && old !== undefined) this.#remove(old, before.key);
    if (after?.item !== undefined) this.#put(after.key, after.item);
    return [...new Set([old, now])].filter((node) => node !== undefined);
  }

  #put(key: string, item: T): void {
    const there = this.#objects.get(item.node) ?? new Map<string, T>();
    this.#objects.set(item.node, there);
    there.set(key, item);
  }

  #remove(node: string, key: string): void {
    const there = this.#objects.get(node);
    there?.delete(key);
    if (there?.size === 0) this.#objects.delete(node);
  }
}
