/** The pods of one workload by the node that they are on, or will be, as the server last showed them. */
import type { Pod } from "../../../kube/index.ts";
import type { StoredPods } from "./pod_index.ts";

/** The node on which a pod is or will be; empty when nothing says so. */
export function nodeOf(pod: Pod): string {
  return pod.nodeName || (pod.pinnedTo ?? "");
}

const noPods: readonly Pod[] = [];

export class NodePods implements StoredPods {
  readonly slotOf = nodeOf;
  readonly #order: (a: Pod, b: Pod) => number;
  readonly #isHeld: (pod: Pod) => boolean;
  readonly #byNode = new Map<string, readonly Pod[]>();

  /** `order` of the pods on one node; pods that are not to be held are passed over. */
  constructor(order: (a: Pod, b: Pod) => number, isHeld: (pod: Pod) => boolean) {
    this.#order = order;
    this.#isHeld = isHeld;
  }

  replace(before: Pod | undefined, after: Pod | undefined): void {
    if (before !== undefined) {
      const left = this.at(nodeOf(before)).filter(({ uid }) => uid !== before.uid);
      if (left.length === 0) this.#byNode.delete(nodeOf(before));
      else this.#byNode.set(nodeOf(before), left);
    }
    if (after === undefined || !this.#isHeld(after)) return;
    // Not spread: a list that is spread has room for more, and most nodes have one pod.
    this.#byNode.set(nodeOf(after), this.at(nodeOf(after)).concat(after).sort(this.#order));
  }

  at(node: string): readonly Pod[] {
    return this.#byNode.get(node) ?? noPods;
  }

  slots(): Iterable<string> {
    return this.#byNode.keys();
  }

  *pods(): Generator<Pod> {
    for (const pods of this.#byNode.values()) yield* pods;
  }
}
