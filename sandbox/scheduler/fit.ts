/** Whether a pod may run on a node, and how well it would. Pure. */
import {
  matchesNode,
  matchesSomeTerm,
  matchesTerm,
  type NodeSelectorTerm,
  unschedulableTaint,
  untoleratedTaint,
} from "../../kube/core/index.ts";
import type { Amounts } from "../amounts.ts";
import type { PodObject } from "../objects/index.ts";
import type { NodeState } from "./node_state.ts";

/** What a pod asks, worked out once for all nodes. */
export interface PodDemand {
  readonly pod: PodObject;
  readonly amounts: Amounts;
  readonly hostPorts: readonly string[];
  /** Node affinity of the volumes that it mounts; all must hold. */
  readonly volumeTerms: readonly (readonly NodeSelectorTerm[])[];
}

/** Rounding of sums of quantities such as 0.1 must not decide. */
const tolerance = 1e-9;

/** The scheduler's reason why the pod cannot run there; undefined when it can. */
export function unfitReason(demand: PodDemand, node: NodeState): string | undefined {
  const { spec } = demand.pod;
  if (node.unschedulable && untoleratedTaint([unschedulableTaint], spec.tolerations)) {
    return "node(s) were unschedulable";
  }
  const taint = untoleratedTaint(node.taints, spec.tolerations);
  if (taint) return `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`;
  if (!matchesNode(spec, node)) return "node(s) didn't match Pod's node affinity/selector";
  for (const terms of demand.volumeTerms) {
    if (!matchesSomeTerm(terms, node)) return "node(s) had volume node affinity conflict";
  }
  if (demand.hostPorts.some((port) => node.hostPorts.has(port))) {
    return "node(s) didn't have free ports for the requested pod ports";
  }
  return lacks(demand.amounts, node);
}

function lacks(amounts: Amounts, node: NodeState): string | undefined {
  if (node.pods + 1 > (node.allocatable["pods"] ?? Number.POSITIVE_INFINITY)) return "Too many pods";
  for (const name in amounts) {
    const asked = amounts[name] ?? 0;
    if (asked <= 0) continue;
    const free = (node.allocatable[name] ?? 0) - (node.used[name] ?? 0);
    if (asked > free * (1 + tolerance) + tolerance) return `Insufficient ${name}`;
  }
  return undefined;
}

/** Node names that the pod's required affinity pins it to by field; undefined when it does not. */
export function pinnedNodes(pod: PodObject): readonly string[] | undefined {
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const names: string[] = [];
  for (const term of terms) {
    const byName = term.matchFields?.find(
      (field) => field.key === "metadata.name" && field.operator === "In",
    );
    if (!byName) return undefined;
    names.push(...(byName.values ?? []));
  }
  return terms.length > 0 ? names : undefined;
}

/** Higher is better: what stays free, what the pod prefers, fewer pods. */
export function scoreNode({ pod, amounts }: PodDemand, node: NodeState): number {
  let score = 0;
  for (const name of ["cpu", "memory"] as const) {
    const allocatable = node.allocatable[name] ?? 0;
    if (allocatable <= 0) continue;
    score += 50 * Math.max(0, 1 - ((node.used[name] ?? 0) + (amounts[name] ?? 0)) / allocatable);
  }
  const podsAllowed = node.allocatable["pods"] ?? 110;
  score += 100 * Math.max(0, 1 - (node.pods + 1) / Math.max(1, podsAllowed));
  const preferred = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  for (const { weight, preference } of preferred) if (matchesTerm(preference, node)) score += 2 * weight;
  for (const taint of node.taints) {
    if (untoleratedTaint([taint], pod.spec.tolerations, ["PreferNoSchedule"])) score -= 100;
  }
  return score;
}
