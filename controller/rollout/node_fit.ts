/**
 * Which nodes a pod template fits, as the scheduler would judge it: node name, node selector, required node affinity
 * and taints. Resources, ports and a node's health are not looked at. Spec: daemonset 4.1.
 */
import type { NodeRequirement, NodeTerm, PodTemplate, Toleration } from "../../crds/index.ts";
import type { Labels } from "../../kube/core/index.ts";
import type { Node, Taint } from "../../kube/index.ts";

/** The part of a node that decides. */
export interface FittingNode {
  readonly name: string;
  readonly labels: Labels;
  readonly taints: readonly Taint[];
}

interface NodeFit {
  /** Name, selector and required affinity match. */
  matches(node: FittingNode): boolean;
  /** The first taint of one of the effects that nothing tolerates. */
  untolerated(node: FittingNode, effects: readonly string[]): Taint | undefined;
}

/** Works out once what a pod spec asks of nodes; `tolerations` replace those of the spec. */
export function nodeFit(
  spec: PodTemplate["spec"],
  tolerations: readonly Toleration[] = spec.tolerations ?? [],
): NodeFit {
  const labels = Object.entries(spec.nodeSelector ?? {});
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? undefined;
  const terms = required === undefined ? undefined : (required.nodeSelectorTerms ?? []);
  return {
    matches: (node) =>
      (!spec.nodeName || spec.nodeName === node.name) &&
      labels.every(([key, value]) => node.labels[key] === value) &&
      (terms === undefined || terms.some((term) => termMatches(term, node))),
    untolerated: (node, effects) =>
      node.taints.find(
        (taint) => effects.includes(taint.effect) && !tolerations.some((one) => tolerates(one, taint)),
      ),
  };
}

/** A projection of a node never changes, so that what was judged of it holds as long as it does. */
export function rememberedByNode<Answer>(judge: (node: Node) => Answer): (node: Node) => Answer {
  const answers = new WeakMap<Node, { answer: Answer }>();
  return (node) => {
    let held = answers.get(node);
    if (held === undefined) {
      held = { answer: judge(node) };
      answers.set(node, held);
    }
    return held.answer;
  };
}

/** A term that asks for nothing matches nothing. */
function termMatches({ matchExpressions, matchFields }: NodeTerm, node: FittingNode): boolean {
  const expressions = matchExpressions ?? [];
  const fields = matchFields ?? [];
  if (expressions.length + fields.length === 0) return false;
  return (
    expressions.every((expression) => holds(expression, node.labels[expression.key])) &&
    fields.every((field) => field.key === "metadata.name" && holds(field, node.name))
  );
}

/** A requirement that cannot be read holds for no node. */
function holds({ operator, values }: NodeRequirement, value: string | undefined): boolean {
  const wanted = values ?? [];
  switch (operator) {
    case "In":
      return value !== undefined && wanted.includes(value);
    case "NotIn":
      return value === undefined || !wanted.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
    case "Lt": {
      const bound = integerOf(wanted[0]);
      const number = integerOf(value);
      if (bound === undefined || number === undefined || wanted.length !== 1) return false;
      return operator === "Gt" ? number > bound : number < bound;
    }
    default:
      return false;
  }
}

function integerOf(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[+-]?\d+$/.test(text) ? BigInt(text.replace("+", "")) : undefined;
}

function tolerates({ key = "", operator, value = "", effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  if (operator === "Exists") return true;
  // Without a key only Exists tolerates everything.
  return (
    (operator === undefined || operator === "" || operator === "Equal") && key !== "" && value === taint.value
  );
}
