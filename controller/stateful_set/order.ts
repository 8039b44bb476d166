/** Which pods are updated first. Spec: statefulset 4.5, rules 16 and 17. */
import { prioritised } from "../rollout/order.ts";
import type { Member, Strategy } from "./observe.ts";

/**
 * The pods of the window that may be brought to the update revision, in the order in which it is done. `members` are
 * those that exist, by ordinal; a pod that is missing still takes its place in the partition.
 */
export function updateOrder(
  members: readonly Member[],
  strategy: Strategy,
  options: { preparingUpdateAsUpdate: boolean },
): Member[] {
  const descending = members.filter((member) => member.inWindow).reverse();
  if (strategy.unordered === undefined) {
    const first = strategy.window[strategy.partition];
    return first === undefined ? [] : descending.filter((member) => member.ordinal >= first);
  }
  const settled = (member: Member): boolean =>
    member.updated ||
    member.terminating ||
    (options.preparingUpdateAsUpdate && member.state === "PreparingUpdate");
  const rest = descending
    .filter((member) => !settled(member))
    .map((member) => ({ member, labels: member.pod.labels }));
  const ordered = prioritised(rest, strategy.unordered.priority).map(({ member }) => member);
  return [...descending.filter(settled), ...ordered].slice(
    0,
    Math.max(0, strategy.replicas - strategy.partition),
  );
}
