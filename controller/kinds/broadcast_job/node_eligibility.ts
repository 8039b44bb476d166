/** Which nodes a BroadcastJob's pod fits. Spec: jobs B4, rule 1. */
import type { PodTemplate } from "../../../crds/index.ts";
import {
  aggregateResources,
  isJsonObject,
  matchesNode,
  quantityAdd,
  quantityCompare,
  unschedulableTaint,
  untoleratedTaint,
} from "../../../kube/core/index.ts";
import type { Node } from "../../../kube/index.ts";

/**
 * Says of a node whether the pod fits there, on an empty node: pods that run there take nothing away. Tolerations are
 * those of the template alone. What the template asks is worked out once.
 */
export function eligibility(template: PodTemplate): (node: Node) => boolean {
  const { spec } = template;
  const requests = Object.entries(requestsOf(template));
  return (node) =>
    matchesNode(spec, node) &&
    untoleratedTaint(node.taints, spec.tolerations) === undefined &&
    (!node.unschedulable || untoleratedTaint([unschedulableTaint], spec.tolerations) === undefined) &&
    // A node that does not say how much it has (it has just joined) has room for nothing yet.
    quantityCompare(node.allocatable["pods"] ?? "0", "1") >= 0 &&
    requests.every(([name, amount]) => quantityCompare(amount, node.allocatable[name] ?? "0") <= 0);
}

/** What the scheduler would reserve, without resources of which nothing is asked. */
function requestsOf({ spec }: PodTemplate): Record<string, string> {
  const requests = aggregateResources(spec, "requests");
  const overhead: unknown = spec["overhead"];
  if (isJsonObject(overhead)) {
    for (const [name, amount] of Object.entries(overhead)) {
      if (typeof amount === "string" || typeof amount === "number")
        requests[name] = quantityAdd(requests[name] ?? "0", amount);
    }
  }
  return Object.fromEntries(
    Object.entries(requests).filter(([, amount]) => quantityCompare(amount, "0") > 0),
  );
}

/** Whether a change of a node can change what it counts as: most changes are heartbeats. */
export function isReclassified(before: Node, after: Node): boolean {
  return (
    before.unschedulable !== after.unschedulable ||
    !same(before.labels, after.labels) ||
    !same(before.allocatable, after.allocatable) ||
    JSON.stringify(before.taints) !== JSON.stringify(after.taints)
  );
}

function same(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
