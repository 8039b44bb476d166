/** The pods of one workload by the node that they are on, or will be. */
import type { Pod } from "../../kube/index.ts";
import { PodsBy } from "./pods_by.ts";

/** The node on which a pod is or will be; empty when nothing says so. */
export function nodeOf(pod: Pod): string {
  return pod.nodeName || (pod.pinnedTo ?? "");
}

export class PodsByNode extends PodsBy {
  constructor(order: (a: Pod, b: Pod) => number, onFlight?: (pod: Pod, change: 1 | -1) => void) {
    super(nodeOf, order, onFlight);
  }
}
