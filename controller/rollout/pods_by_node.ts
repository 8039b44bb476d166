/** The pods of one workload by the node that they are on, or will be, kept up from event to event. */
import type { Pod } from "../../kube/index.ts";
import { FlightsByPlace } from "./flights_by_place.ts";

/** The node on which a pod is or will be; empty when nothing says so. */
export function nodeOf(pod: Pod): string {
  return pod.nodeName || (pod.pinnedTo ?? "");
}

const noPods: readonly Pod[] = [];

export class PodsByNode extends FlightsByPlace {
  readonly #order: (a: Pod, b: Pod) => number;
  readonly #stored = new Map<string, readonly Pod[]>();

  /** `order` of the pods on one node. */
  constructor(order: (a: Pod, b: Pod) => number, onFlight?: (pod: Pod, change: 1 | -1) => void) {
    super(nodeOf, onFlight);
    this.#order = order;
  }

  put(pod: Pod): void {
    const node = nodeOf(pod);
    this.touch(node);
    // Not spread: a list that is spread has room for more, and most nodes have one pod.
    this.#stored.set(node, this.on(node).concat(pod).sort(this.#order));
  }

  take(pod: Pod): void {
    const node = nodeOf(pod);
    this.touch(node);
    const left = this.on(node).filter(({ uid }) => uid !== pod.uid);
    if (left.length === 0) this.#stored.delete(node);
    else this.#stored.set(node, left);
  }

  /** Pods as the server last showed them, in order. */
  on(node: string): readonly Pod[] {
    return this.#stored.get(node) ?? noPods;
  }

  /** Nodes that have pods, or will. */
  override names(): Set<string> {
    return new Set([...this.#stored.keys(), ...super.names()]);
  }
}
