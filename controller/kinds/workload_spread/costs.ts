/** Which pods of a spread workload are to go first. Pure. Spec: workloadspread 4.4. */
import type { WorkloadSpreadSubset } from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { sortedByActivity } from "../../rollout/order/order.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import { capOf } from "./caps.ts";

export const deletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost";

const kindsWithCosts: ReadonlySet<string> = new Set(["CloneSet", "Deployment", "ReplicaSet"]);

/** Whether what carries out workloads of this kind heeds costs. Rule 20. */
export function hasCosts(targetKind: string): boolean {
  return kindsWithCosts.has(targetKind);
}

export interface CostInput {
  readonly subsets: readonly WorkloadSpreadSubset[];
  /** Pods of one version, by subset; `undefined` for those of none. */
  readonly members: ReadonlyMap<string | undefined, readonly Pod[]>;
  /** Wanted pods of the workload; -1 for unknown. */
  readonly size: number;
  /** Whether this is the version that the workload is brought to; all others go from front to back. */
  readonly isLatest: boolean;
}

/** Of a pod within the cap of the subset at this index: the subset that is filled first is emptied last. Rule 21. */
export function costWithinCap(index: number, count: number): number {
  return 100 * (count - index);
}

/** What each active pod costs, by UID: the less, the sooner it goes. */
export function deletionCosts({ subsets, members, size, isLatest }: CostInput): Map<string, number> {
  const costs = new Map<string, number>();
  const count = subsets.length;
  for (const [index, subset] of subsets.entries()) {
    const place = isLatest ? index : count - 1 - index;
    const pods = (members.get(subset.name) ?? []).filter(isActive);
    const over = Math.max(0, pods.length - (capOf(subset, size) ?? pods.length));
    const ordered = over === 0 ? pods : sortedByActivity(pods.map((pod) => ({ pod }))).map(({ pod }) => pod);
    for (const [at, { uid }] of ordered.entries())
      costs.set(uid, at < over ? -100 * (place + 1) : costWithinCap(place, count));
  }
  for (const pod of members.get(undefined) ?? []) if (isActive(pod)) costs.set(pod.uid, -100 * (count + 1));
  return costs;
}
