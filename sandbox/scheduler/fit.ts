/** Whether a pod may run on a node, and how well it would. Pure. */
import type { Amounts } from "../amounts.ts";
import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodObject,
  Taint,
  Toleration,
} from "../objects/index.ts";
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
export function misfit(demand: PodDemand, node: NodeState): string | undefined {
  const { spec } = demand.pod;
  if (node.unschedulable && !toleratesUnschedulable(spec.tolerations)) return "node(s) were unschedulable";
  const taint = node.taints.find(
    (candidate) => candidate.effect !== "PreferNoSchedule" && !tolerates(spec.tolerations, candidate),
  );
  if (taint) return `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`;
  if (!matchesNode(demand, node)) return "node(s) didn't match Pod's node affinity/selector";
  for (const terms of demand.volumeTerms) {
    if (!matchesAnyTerm(terms, node)) return "node(s) had volume node affinity conflict";
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

export function matchesNode({ pod }: PodDemand, node: NodeState): boolean {
  const { nodeSelector, affinity } = pod.spec;
  for (const key in nodeSelector) if (node.labels[key] !== nodeSelector[key]) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesAnyTerm(required.nodeSelectorTerms ?? [], node);
}

export function matchesAnyTerm(
  terms: readonly NodeSelectorTerm[],
  node: Pick<NodeState, "name" | "labels">,
): boolean {
  return terms.some((term) => matchesTerm(term, node));
}

/** A term without any requirement matches nothing. */
function matchesTerm(term: NodeSelectorTerm, node: Pick<NodeState, "name" | "labels">): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length + fields.length === 0) return false;
  return (
    expressions.every((requirement) => satisfies(requirement, node.labels[requirement.key])) &&
    fields.every((field) => satisfies(field, field.key === "metadata.name" ? node.name : undefined))
  );
}

function satisfies({ operator, values = [] }: NodeSelectorRequirement, value: string | undefined): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return value !== undefined && Number(value) > Number(values[0]);
    case "Lt":
      return value !== undefined && Number(value) < Number(values[0]);
    default:
      return false;
  }
}

export function tolerates(tolerations: readonly Toleration[] | undefined, taint: Taint): boolean {
  return (tolerations ?? []).some((toleration) => toleratesTaint(toleration, taint));
}

export function toleratesTaint(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if (toleration.operator === "Exists") return true;
  return Boolean(toleration.key) && (toleration.value ?? "") === (taint.value ?? "");
}

function toleratesUnschedulable(tolerations: readonly Toleration[] | undefined): boolean {
  return tolerates(tolerations, { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" });
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
    if (taint.effect === "PreferNoSchedule" && !tolerates(pod.spec.tolerations, taint)) score -= 100;
  }
  return score;
}
