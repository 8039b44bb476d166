/** Which nodes a DaemonSet wants a pod on, and where it lets one be. Spec: daemonset 4.1, rules 1 to 4. */
import type { PodTemplate } from "../../../crds/index.ts";
import {
  daemonTolerations,
  type LabeledNode,
  matchesNode,
  type Taint,
  untoleratedTaint,
} from "../../../kube/core/index.ts";

export type NodeEligibility =
  /** A pod belongs here. */
  | "run"
  /** No new pod, but one that is here stays: only a taint without eviction stands against it. */
  | "keep"
  /** Pods that are here go. */
  | "none";

/** Works out once what the template asks; the answer for a node depends on its name, labels and taints only. */
export function nodeEligibility(
  spec: PodTemplate["spec"],
): (node: LabeledNode & { readonly taints: readonly Taint[] }) => NodeEligibility {
  const tolerations = daemonTolerations(spec);
  return (node) => {
    if (!matchesNode(spec, node)) return "none";
    if (untoleratedTaint(node.taints, tolerations, ["NoExecute"]) !== undefined) return "none";
    return untoleratedTaint(node.taints, tolerations, ["NoSchedule"]) === undefined ? "run" : "keep";
  };
}
