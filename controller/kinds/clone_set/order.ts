/** Which pods go first: to be deleted, and to be updated. Spec: cloneset rules 37, 38, 42. */
import type { Labels } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import {
  byName,
  byPhase,
  byStrategy,
  firstDifference,
  latestReadyFirst,
  moreRestartsFirst,
  newestFirst,
  type Rule,
  unscheduledFirst,
} from "../../rollout/order/order.ts";
import type { CloneSetMember, CloneSetStrategy } from "./strategy.ts";

const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";
const INT32 = { least: -(2 ** 31), most: 2 ** 31 - 1 };

/** Plain decimal int32 without sign "+" or leading zeros; anything else is 0. */
function deletionCost(pod: Pod): number {
  const text = pod.annotations[DELETION_COST];
  if (text === undefined || !/^(0|-?[1-9]\d*)$/.test(text)) return 0;
  const cost = Number(text);
  return cost >= INT32.least && cost <= INT32.most ? cost : 0;
}

const beforeCost: readonly Rule<CloneSetMember>[] = [
  (a, b) => unscheduledFirst(a.pod, b.pod),
  (a, b) => byPhase(a.pod, b.pod),
  (a, b) => Number(a.available) - Number(b.available),
  (a, b) => Number(a.ready) - Number(b.ready),
  (a, b) => deletionCost(a.pod) - deletionCost(b.pod),
];
const afterRank: readonly Rule<CloneSetMember>[] = [
  (a, b) => latestReadyFirst(a.pod, b.pod),
  (a, b) => moreRestartsFirst(a.pod, b.pod),
  (a, b) => newestFirst(a.pod, b.pod),
  (a, b) => byName(a.pod, b.pod),
];

export interface Topology {
  /** Topology keys of the template's spread constraints. */
  keys: readonly string[];
  nodeLabels: (node: string) => Labels | undefined;
}

/** Pods of one revision class in the order in which scaling in deletes them. */
export function deletionOrder(members: readonly CloneSetMember[], topology: Topology): CloneSetMember[] {
  const rank = spreadRanks(members, topology);
  const rankOf = (member: CloneSetMember): number => rank.get(member) ?? 0;
  return [...members].sort(
    firstDifference<CloneSetMember>([...beforeCost, (a, b) => rankOf(b) - rankOf(a), ...afterRank]),
  );
}

/** Crowded places give up pods first: the best pod of a place has the lowest rank. Rule 38. */
function spreadRanks(members: readonly CloneSetMember[], topology: Topology): Map<CloneSetMember, number> {
  const sameNode = ranksWithin(
    members,
    (member) => member.pod.nodeName,
    [],
    (index, count) => count - 1 - index,
  );
  if (topology.keys.length === 0) return sameNode;
  const sums = new Map<CloneSetMember, number>();
  for (const key of topology.keys) {
    const placeOf = (member: CloneSetMember): string | undefined =>
      member.pod.nodeName === "" ? undefined : topology.nodeLabels(member.pod.nodeName)?.[key];
    const places = new Set(members.map(placeOf).filter((place) => place !== undefined)).size;
    const tieBreak: Rule<CloneSetMember>[] =
      key === "kubernetes.io/hostname" ? [] : [(a, b) => (sameNode.get(b) ?? 0) - (sameNode.get(a) ?? 0)];
    const ranks = ranksWithin(
      members,
      placeOf,
      tieBreak,
      (index, count) => (count - index) * Math.log(places + 2),
    );
    for (const [member, rank] of ranks) sums.set(member, (sums.get(member) ?? 0) + rank);
  }
  return sums;
}

function ranksWithin(
  members: readonly CloneSetMember[],
  placeOf: (member: CloneSetMember) => string | undefined,
  tieBreak: readonly Rule<CloneSetMember>[],
  rank: (index: number, count: number) => number,
): Map<CloneSetMember, number> {
  const groups = new Map<string, CloneSetMember[]>();
  for (const member of members) {
    const place = placeOf(member);
    if (place === undefined) continue;
    const group = groups.get(place);
    if (group === undefined) groups.set(place, [member]);
    else group.push(member);
  }
  const order = firstDifference<CloneSetMember>([...beforeCost, ...tieBreak, ...afterRank]);
  const ranks = new Map<CloneSetMember, number>();
  for (const group of groups.values()) {
    group.sort(order);
    for (const [index, member] of group.entries()) ranks.set(member, rank(index, group.length));
  }
  return ranks;
}

/**
 * Waiting for a hook, or marked for recreation: those are updated first, so that a pass never starts more than the one
 * before it meant to.
 */
export function isUnderWay(member: CloneSetMember): boolean {
  return member.state === "PreparingUpdate" || member.specified;
}

/**
 * Candidates, which come by activity and those under way first, in the order in which they are updated. `all` active pods:
 * what a scattered order is measured by. Pods that are marked for recreation come ahead of their turn, and where
 * priority or scatter give them a turn, they come again at its place.
 */
export function updateOrder(
  candidates: Iterable<CloneSetMember>,
  all: () => Iterable<Pod>,
  strategy: Pick<CloneSetStrategy, "priority" | "scatter">,
): Iterable<CloneSetMember> {
  if (strategy.priority === undefined && (strategy.scatter ?? []).length === 0) return candidates;
  const members = byStrategy(candidates, [...all()], strategy);
  return [
    ...members.filter(isUnderWay),
    ...members.filter((member) => member.specified || !isUnderWay(member)),
  ];
}
