/**
 * A generation counts as observed once the writes of pods are answered that its first plan led to, and those that were
 * under way for an earlier one: until then the pods may look as if all was done, and change again.
 */

interface FirstWrites {
  readonly generation: number;
  /** Keys of pods in flight. */
  readonly pods: Set<string>;
}

export class ObservedGenerations {
  readonly #byUid = new Map<string, FirstWrites>();

  /** Before what a plan asks for is begun: a pod that is written again by it counts as answered. */
  answered(uid: string, pending: ReadonlyMap<string, unknown>): void {
    const first = this.#byUid.get(uid);
    for (const pod of first?.pods ?? []) if (!pending.has(pod)) first?.pods.delete(pod);
  }

  /** After it was begun. */
  isObserved(uid: string, generation: number, pending: ReadonlyMap<string, unknown>): boolean {
    let first = this.#byUid.get(uid);
    if (first?.generation !== generation) {
      first = { generation, pods: new Set(pending.keys()) };
      this.#byUid.set(uid, first);
    }
    return first.pods.size === 0;
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}
