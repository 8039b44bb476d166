/** What plans worked out of objects of the caches. These never change, so it outlives passes; whoever plans owns it. */
import type { Pod } from "../../kube/index.ts";

export class PlanMemory {
  /** Pods of which it is known whether they need a refresh. */
  readonly refreshed = new WeakMap<Pod, boolean>();
  /** Data of the revision of a template. */
  readonly templateData = new Memo<string>();
  /** Templates, and revisions, with every default written out. */
  readonly meanings = new Memo<unknown>();
}

class Memo<V> {
  readonly #values = new WeakMap<object, { readonly value: V }>();

  of(object: object, make: () => V): V {
    let known = this.#values.get(object);
    if (known === undefined) {
      known = { value: make() };
      this.#values.set(object, known);
    }
    return known.value;
  }
}
