/** The events that led from one state of a modelled cluster to the next, as a roster hears them. For tests. */
import type { Node, Pod } from "../../kube/index.ts";

interface Listening {
  podChanged(before: Pod | undefined, after: Pod | undefined): void;
  nodeChanged?(name: string): void;
}

interface Cluster {
  readonly pods: ReadonlyMap<string, Pod>;
  /** Absent where the roster does not care about them. */
  readonly nodes?: ReadonlyMap<string, Node>;
}

export class RosterEvents {
  #pods: ReadonlyMap<string, Pod> = new Map();
  #nodes: ReadonlyMap<string, Node> = new Map();

  /** Tells a roster what has changed since the last call; one that was made of this very state is told nothing. */
  follow({ pods: named, nodes: present = new Map() }: Cluster, roster: Listening | undefined): void {
    const pods = new Map([...named.values()].map((pod) => [pod.uid, pod]));
    const nodes = new Map(present);
    if (roster !== undefined) {
      for (const uid of new Set([...this.#pods.keys(), ...pods.keys()])) {
        const [before, after] = [this.#pods.get(uid), pods.get(uid)];
        if (before !== after) roster.podChanged(before, after);
      }
      for (const name of new Set([...this.#nodes.keys(), ...nodes.keys()])) {
        if (this.#nodes.get(name) !== nodes.get(name)) roster.nodeChanged?.(name);
      }
    }
    this.#pods = pods;
    this.#nodes = nodes;
  }
}
