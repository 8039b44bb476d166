/**
 * A generation counts as observed once the writes of pods are answered that its first plan led to, and those that were
 * under way for an earlier one: until then the pods may look as if all was done, and change again.
 */
import type { PendingPods } from "../writes/pending_pods.ts";

interface FirstWrites {
  readonly generation: number;
  /** Ids of pods in flight. */
  readonly pods: Set<string>;
  /** What `pods` were seen in, and its version then. */
  readonly pending: PendingPods;
  version: number;
}

export class ObservedGenerations {
  readonly #byUid = new Map<string, FirstWrites>();

  /**
   * Before what a plan asks for is begun: a pod that is written again by it counts as answered. Looks at what changed since it
   * was called last, because each answer to one of thousands of writes is followed by a pass.
   */
  answered(uid: string, pending: PendingPods): void {
    const first = this.#byUid.get(uid);
    if (first === undefined || first.pods.size === 0) return;
    const changed = pending === first.pending ? pending.changesSince(first.version) : undefined;
    for (const pod of changed ?? first.pods) if (!pending.has(pod)) first.pods.delete(pod);
    first.version = pending.version;
  }

  /** After it was begun. */
  isObserved(uid: string, generation: number, pending: PendingPods): boolean {
    let first = this.#byUid.get(uid);
    if (first?.generation !== generation) {
      first = { generation, pods: new Set(pending.keys()), pending, version: pending.version };
      this.#byUid.set(uid, first);
    }
    return first.pods.size === 0;
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}
