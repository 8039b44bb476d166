/** Which pods are updated first. Spec: statefulset 4.5, rules 16 and 17. */
import { isAsked } from "../../rollout/lifecycle/lifecycle.ts";
import { prioritised } from "../../rollout/order/order.ts";
import { membersOf } from "../../rollout/pods/pod_view.ts";
import type { SetView } from "./slots.ts";
import type { StatefulSetMember, StatefulSetStrategy } from "./strategy.ts";

interface UpdateOrderOptions {
  readonly preparingUpdateAsUpdate: boolean;
}

/** What a rolling update wants changed. */
export interface Reach {
  /** Pods that it wants at the update revision and that are not. */
  readonly outdated: { readonly size: number; has(pod: string): boolean };
  /** Pods that may be gone on with, in the order of the update. */
  order(): Iterable<StatefulSetMember>;
  /** Of those: pods about which a hook was asked. */
  begun(): Iterable<StatefulSetMember>;
}

/**
 * By ordinal the index knows it already. Priorities and claims that grow with their pods need a look at every pod: what
 * the index cannot tell is decided here.
 */
export function reachOf(
  pods: SetView,
  { strategy, options }: { readonly strategy: StatefulSetStrategy; readonly options: UpdateOrderOptions },
): Reach {
  if (strategy.onDelete) return { outdated: new Set(), order: () => [], begun: () => [] };
  if (strategy.unordered === undefined && !strategy.resizesClaims) {
    return {
      outdated: pods.groups.outdated,
      order: () => membersOf(pods.entries(pods.groups.outdated.descending())),
      begun: () => membersOf(pods.entries(pods.groups.begun.descending())),
    };
  }
  const order = updateOrder([...membersOf(pods.every())], strategy, options).filter(
    (member) => !member.terminating,
  );
  const outdated = order.filter((member) => !member.updated);
  return {
    outdated: new Set(outdated.map(({ pod }) => pod.name)),
    order: () => order,
    begun: () => order.filter(({ state }) => isAsked(state)),
  };
}

/**
 * The pods of the window that may be brought to the update revision, in the order in which it is done. `members` are
 * those that exist, by ordinal; a pod that is missing still takes its place in the partition.
 */
export function updateOrder(
  members: readonly StatefulSetMember[],
  strategy: StatefulSetStrategy,
  options: UpdateOrderOptions,
): StatefulSetMember[] {
  const descending = members.filter((member) => member.inWindow).reverse();
  if (strategy.unordered === undefined) {
    const { window, partition } = strategy;
    return descending.filter(({ ordinal }) => (window.rankOf(ordinal) ?? 0) >= partition);
  }
  const isReached = (member: StatefulSetMember): boolean =>
    member.updated ||
    member.terminating ||
    (options.preparingUpdateAsUpdate && member.state === "PreparingUpdate");
  const rest = descending
    .filter((member) => !isReached(member))
    .map((member) => ({ member, labels: member.pod.labels }));
  const ordered = prioritised(rest, strategy.unordered.priority).map(({ member }) => member);
  return [...descending.filter(isReached), ...ordered].slice(
    0,
    Math.max(0, strategy.replicas - strategy.partition),
  );
}
