/**
 * Where a pod may run by name, labels and taints, as the scheduler and the DaemonSet controller of Kubernetes decide it.
 * Resources, ports and a node's health are not looked at. Pure. Spec: daemonset 4.1, jobs B4.
 */
import { requirementHolds, type SelectorOperator } from "./selector.ts";
import type { Labels } from "./types.ts";

export interface NodeSelectorRequirement {
  key: string;
  operator: string;
  values?: string[] | null;
}

export interface NodeSelectorTerm {
  matchExpressions?: NodeSelectorRequirement[] | null;
  matchFields?: NodeSelectorRequirement[] | null;
}

export interface NodeAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms?: NodeSelectorTerm[] | null };
  preferredDuringSchedulingIgnoredDuringExecution?: { weight: number; preference: NodeSelectorTerm }[];
}

export interface Taint {
  key: string;
  value?: string;
  /** `NoSchedule` | `PreferNoSchedule` | `NoExecute`. */
  effect: string;
  /** RFC 3339; on taints of NoExecute. */
  timeAdded?: string;
}

export interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

/** What a pod spec asks of its node. */
export interface NodeDemand {
  readonly nodeName?: string;
  readonly nodeSelector?: Labels;
  readonly affinity?: { readonly nodeAffinity?: NodeAffinity };
}

/** The part of a node that decides. */
export interface LabeledNode {
  readonly name: string;
  readonly labels: Labels;
}

/** Effects that keep a pod away; PreferNoSchedule only weighs. */
export const repellingEffects = ["NoSchedule", "NoExecute"] as const;

/** What cordoning a node amounts to. */
export const unschedulableTaint: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** Whether name, selector and required affinity match. */
export function matchesNode({ nodeName, nodeSelector, affinity }: NodeDemand, node: LabeledNode): boolean {
  if (nodeName && nodeName !== node.name) return false;
  for (const key in nodeSelector) if (node.labels[key] !== nodeSelector[key]) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? undefined;
  return required === undefined || matchesSomeTerm(required.nodeSelectorTerms ?? [], node);
}

export function matchesSomeTerm(terms: readonly NodeSelectorTerm[], node: LabeledNode): boolean {
  return terms.some((term) => matchesTerm(term, node));
}

/** A term that asks for nothing matches nothing. */
export function matchesTerm({ matchExpressions, matchFields }: NodeSelectorTerm, node: LabeledNode): boolean {
  const expressions = matchExpressions ?? [];
  const fields = matchFields ?? [];
  if (expressions.length + fields.length === 0) return false;
  return (
    expressions.every((expression) => holds(expression, node.labels[expression.key])) &&
    fields.every((field) => field.key === "metadata.name" && holds(field, node.name))
  );
}

const operators: ReadonlyMap<string, SelectorOperator> = new Map([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
  ["Gt", "gt"],
  ["Lt", "lt"],
]);

/** A requirement that cannot be read holds for no node. */
function holds({ operator, values }: NodeSelectorRequirement, value: string | undefined): boolean {
  const known = operators.get(operator);
  return known !== undefined && requirementHolds(known, values ?? [], value);
}

export function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === "Exists") return true;
  // Without a key only Exists tolerates everything.
  return Boolean(key) && (!operator || operator === "Equal") && (value ?? "") === (taint.value ?? "");
}

/** The first taint of one of the effects that nothing tolerates. */
export function untoleratedTaint(
  taints: readonly Taint[],
  tolerations: readonly Toleration[] | undefined,
  effects: readonly string[] = repellingEffects,
): Taint | undefined {
  return taints.find(
    (taint) => effects.includes(taint.effect) && !tolerations?.some((one) => tolerates(one, taint)),
  );
}

const daemonPods: readonly Toleration[] = [
  exists("node.kubernetes.io/not-ready", "NoExecute"),
  exists("node.kubernetes.io/unreachable", "NoExecute"),
  exists("node.kubernetes.io/disk-pressure", "NoSchedule"),
  exists("node.kubernetes.io/memory-pressure", "NoSchedule"),
  exists("node.kubernetes.io/pid-pressure", "NoSchedule"),
  exists(unschedulableTaint.key, unschedulableTaint.effect),
];
const onHostNetwork = exists("node.kubernetes.io/network-unavailable", "NoSchedule");

function exists(key: string, effect: string): Toleration {
  return { key, operator: "Exists", effect };
}

/** The template's tolerations and those that every daemon pod has: its node's troubles are no reason to be elsewhere. */
export function daemonTolerations(spec: { tolerations?: Toleration[]; hostNetwork?: boolean }): Toleration[] {
  const added = spec.hostNetwork === true ? [...daemonPods, onHostNetwork] : daemonPods;
  const isAdded = (toleration: Toleration) => added.some((one) => isSameTest(one, toleration));
  return [...(spec.tolerations ?? []).filter((toleration) => !isAdded(toleration)), ...added];
}

/** What the API calls a match of tolerations: all but the time is equal. */
function isSameTest(a: Toleration, b: Toleration): boolean {
  return (
    a.key === b.key &&
    a.effect === b.effect &&
    (a.operator ?? "") === (b.operator ?? "") &&
    (a.value ?? "") === (b.value ?? "")
  );
}
