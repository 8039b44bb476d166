/** Which pods are updated first. Spec: sidecarset, rules 33 and 34. */
import type { Labels } from "../../../kube/core/index.ts";
import { byStrategy, type PriorityStrategy, type ScatterStrategy } from "../../rollout/order/order.ts";
import type { SidecarSetMember } from "./rollout.ts";

const EVERY_VALUE = "*";

export interface OrderStrategy {
  readonly priority: PriorityStrategy | undefined;
  readonly scatter: ScatterStrategy | undefined;
}

/** Candidates, which come by activity. `all`: the pods that the set manages, by which a scattered order is measured. */
export function updateOrder(
  candidates: Iterable<SidecarSetMember>,
  all: () => Iterable<{ labels: Labels }>,
  { priority, scatter }: OrderStrategy,
): Iterable<SidecarSetMember> {
  if (priority === undefined && (scatter ?? []).length === 0) return candidates;
  const everyone = [...all()];
  return byStrategy(candidates, everyone, { priority, scatter: expanded(scatter ?? [], everyone) });
}

/** A term for every value of a key is one for each value that a pod has. */
function expanded(terms: ScatterStrategy, pods: readonly { labels: Labels }[]): ScatterStrategy {
  const values = (key: string): string[] =>
    [...new Set(pods.flatMap(({ labels }) => labels[key] ?? []))].sort();
  const all = terms.flatMap(({ key, value }) =>
    value === EVERY_VALUE ? values(key).map((each) => ({ key, value: each })) : [{ key, value }],
  );
  const byText = new Map(all.map((term) => [JSON.stringify([term.key, term.value]), term]));
  return [...byText.values()];
}
