/** How many pods each subset gets. Pure, and a function of nothing but its arguments. Spec: uniteddeployment 4.4. */
import { shareOf } from "../../../crds/index.ts";
import type { IntOrString } from "../../../kube/core/index.ts";

/** A subset as an allocator sees it. */
export interface AllocatedSubset {
  readonly name: string;
  /** Fixed share of the total. */
  readonly replicas?: IntOrString | null | undefined;
  readonly minReplicas?: IntOrString | null | undefined;
  readonly maxReplicas?: IntOrString | null | undefined;
  /** What its workload has; undefined where there is none. */
  readonly child: AllocatedChild | undefined;
  /** No new pods are expected to be scheduled here. */
  readonly unschedulable: boolean;
}

export interface AllocatedChild {
  /** `spec.replicas`. */
  readonly replicas: number;
  readonly readyReplicas: number;
  /** Pods, be they still to come, that count for nothing: they are expected to stay pending, others stand in for them. */
  readonly reserved: number;
  /** New pods appeared while the subset was unschedulable, none of which is known to be reserved still. */
  readonly marked: boolean;
}

/** `byNumber` reads min and max where a subset has one, else `replicas`. The others read min and max alone. */
export type AllocationMode = "byNumber" | "adaptive" | "reserved";

/** Pods by subset, in the order of the subsets; or why the numbers cannot be met, in the API's words. */
export type Allocation = { readonly replicas: readonly number[] } | { readonly problem: string };

/** `total`: pods over all subsets; undefined where the object does not say, which takes a number for every subset. */
export function allocate(
  subsets: readonly AllocatedSubset[],
  total: number | undefined,
  mode: AllocationMode,
): Allocation {
  const twice = subsets.find(({ name }, index) => subsets.findIndex((other) => other.name === name) < index);
  // Stored around admission: one workload cannot have two sizes.
  if (twice !== undefined) return { problem: `duplicated subset name ${twice.name}` };
  if (mode === "byNumber" && !subsets.some(hasRange)) return allocateSpecified(subsets, total);
  const wanted = total ?? 1;
  const ranges = subsets.map((subset) => rangeOf(subset, wanted));
  const problem = rangeProblem(ranges);
  if (problem !== undefined) return { problem };
  if (mode === "reserved") return { replicas: allocateReserved(subsets, ranges, wanted) };
  const adapted =
    mode === "adaptive" ? ranges.map((range, index) => adaptedRange(range, subsets[index])) : ranges;
  return { replicas: allocateInRanges(adapted, wanted) };
}

function hasRange({ minReplicas, maxReplicas }: AllocatedSubset): boolean {
  return isGiven(minReplicas) || isGiven(maxReplicas);
}

function isGiven(value: IntOrString | null | undefined): value is IntOrString {
  return value !== undefined && value !== null;
}

/** Rules 16, 17: what is specified first; the rest evenly, the odd ones to those that are the largest now. */
function allocateSpecified(subsets: readonly AllocatedSubset[], total: number | undefined): Allocation {
  const specified = subsets.map(({ replicas }) =>
    total === undefined && typeof replicas !== "number" ? undefined : shareOf(replicas, total ?? 0),
  );
  const sum = specified.reduce<number>((all, share) => all + (share ?? 0), 0);
  const open = subsets.flatMap((subset, index) =>
    specified[index] === undefined ? [{ subset, index }] : [],
  );
  if (total === undefined) {
    return open.length === 0
      ? { replicas: specified.map((share) => share ?? 0) }
      : { problem: "all subsets must be specified when UnitedDeployment replica is unspecified" };
  }
  const rest = total - sum;
  if (rest < 0) return { problem: sumProblem(sum, "greater", total) };
  if (rest > 0 && open.length === 0) return { problem: sumProblem(sum, "less", total) };
  const replicas = specified.map((share) => share ?? Math.floor(rest / open.length));
  const odd = open.length === 0 ? 0 : rest % open.length;
  const bySize = open.toSorted((a, b) => bySizeThenName(b.subset, a.subset));
  for (const { index } of bySize.slice(0, odd)) replicas[index] = (replicas[index] ?? 0) + 1;
  return { replicas };
}

function bySizeThenName(a: AllocatedSubset, b: AllocatedSubset): number {
  return (a.child?.replicas ?? 0) - (b.child?.replicas ?? 0) || (a.name < b.name ? -1 : 1);
}

function sumProblem(sum: number, relation: "greater" | "less", total: number): string {
  return `specified subsets' replica (${sum}) is ${relation} than UnitedDeployment replica (${total})`;
}

interface Range {
  readonly min: number;
  /** May be infinite, and below `min` where a subset that takes nothing new has a floor. */
  readonly max: number;
}

function rangeOf({ minReplicas, maxReplicas }: AllocatedSubset, total: number): Range {
  return { min: shareOf(minReplicas, total) ?? 0, max: shareOf(maxReplicas, total) ?? Infinity };
}

function rangeProblem(ranges: readonly Range[]): string | undefined {
  const index = ranges.findIndex(({ min, max }) => min > max);
  const range = ranges[index];
  if (range === undefined) return undefined;
  return `subset[${index}].maxReplicas(${range.max}) must be more than or equal to minReplicas(${range.min})`;
}

/** Rule 19: closed subsets keep what is ready, in the others what is ready stays. */
function adaptedRange({ min, max }: Range, subset: AllocatedSubset | undefined): Range {
  const { child } = subset ?? {};
  const ready = child?.readyReplicas ?? 0;
  if (subset?.unschedulable && child !== undefined)
    return { min: Math.max(ready, min), max: Math.min(ready, max) };
  return ready > min ? { min: Math.min(ready, max), max } : { min, max };
}

/** Rule 18: floors in the order of the list, then what is left up to the ceilings, in the same order. */
function allocateInRanges(ranges: readonly Range[], total: number): number[] {
  let left = total;
  const replicas = ranges.map(({ min }) => {
    const given = Math.min(min, left);
    left -= given;
    return given;
  });
  for (const [index, { min, max }] of ranges.entries()) {
    const given = Math.max(0, Math.min(max - min, left));
    left -= given;
    replicas[index] = (replicas[index] ?? 0) + given;
  }
  return replicas;
}

/** Rule 20: pods that are expected to stay pending take nothing of the total, so that others stand in for them. */
function allocateReserved(
  subsets: readonly AllocatedSubset[],
  ranges: readonly Range[],
  total: number,
): number[] {
  let left = total;
  const capacity = subsets.map(({ child, unschedulable }) =>
    child !== undefined && (unschedulable || child.marked) ? child.replicas - child.reserved : Infinity,
  );
  const replicas = subsets.map(() => 0);
  const give = (index: number, upTo: number): void => {
    if (left <= 0) return;
    const given = Math.max(0, Math.min(upTo - (replicas[index] ?? 0), left));
    const room = (capacity[index] ?? 0) - given;
    replicas[index] = (replicas[index] ?? 0) + given;
    capacity[index] = room;
    left -= room >= 0 ? given : Math.max(0, given + room);
  };
  for (const [index, { min }] of ranges.entries()) give(index, min);
  for (const [index, { max }] of ranges.entries()) {
    const { unschedulable = false, child } = subsets[index] ?? {};
    give(index, unschedulable ? (child?.replicas ?? 0) : max);
  }
  return replicas;
}
