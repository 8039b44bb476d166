/** Which nodes a DaemonSet wants a pod on, and where it lets one be. Spec: daemonset 4.1, rules 1 to 4. */
import type { PodTemplate, Toleration } from "../../crds/index.ts";
import { type FittingNode, nodeFit } from "../rollout/node_fit.ts";

export type Verdict =
  /** A pod belongs here. */
  | "run"
  /** No new pod, but one that is here stays: only a taint without eviction stands against it. */
  | "keep"
  /** Pods that are here go. */
  | "none";

const everywhere: readonly Toleration[] = [
  exists("node.kubernetes.io/not-ready", "NoExecute"),
  exists("node.kubernetes.io/unreachable", "NoExecute"),
  exists("node.kubernetes.io/disk-pressure", "NoSchedule"),
  exists("node.kubernetes.io/memory-pressure", "NoSchedule"),
  exists("node.kubernetes.io/pid-pressure", "NoSchedule"),
  exists("node.kubernetes.io/unschedulable", "NoSchedule"),
];
const onHostNetwork = exists("node.kubernetes.io/network-unavailable", "NoSchedule");

/** The template's tolerations and those that every daemon pod has: its node's troubles are no reason to be elsewhere. */
export function daemonTolerations(spec: PodTemplate["spec"]): Toleration[] {
  const added = spec.hostNetwork === true ? [...everywhere, onHostNetwork] : everywhere;
  const isAdded = (toleration: Toleration) =>
    added.some(
      (one) => one.key === toleration.key && one.effect === toleration.effect && isSameTest(one, toleration),
    );
  return [...(spec.tolerations ?? []).filter((toleration) => !isAdded(toleration)), ...added];
}

/** What the API calls a match of tolerations: operator and value are equal, too. */
function isSameTest(a: Toleration, b: Toleration): boolean {
  return (a.operator ?? "") === (b.operator ?? "") && (a.value ?? "") === (b.value ?? "");
}

function exists(key: string, effect: string): Toleration {
  return { key, operator: "Exists", effect };
}

/** Works out once what the template asks; the answer for a node depends on its name, labels and taints only. */
export function nodeVerdicts(spec: PodTemplate["spec"]): (node: FittingNode) => Verdict {
  const fit = nodeFit(spec, daemonTolerations(spec));
  return (node) => {
    if (!fit.matches(node)) return "none";
    if (fit.untolerated(node, ["NoExecute"]) !== undefined) return "none";
    return fit.untolerated(node, ["NoSchedule"]) === undefined ? "run" : "keep";
  };
}
