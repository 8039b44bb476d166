/** A second reading of how pods are divided, from the spec's text alone: pod by pod. Spec: uniteddeployment 4.4. */
import fc from "fast-check";
import t from "tap";
import type { IntOrString } from "../../../kube/core/index.ts";
import { type AllocatedSubset, type AllocationMode, allocate } from "./allocation.ts";

type Answer = readonly number[] | "greater" | "less" | "above its ceiling";

/** Rule 15, in hundredths of a pod. */
function amount(value: IntOrString | undefined, total: number): number | undefined {
  if (value === undefined || typeof value === "number") return value;
  const doubled = total * Number.parseInt(value, 10) * 2 + 100;
  return (doubled - (doubled % 200)) / 200;
}

/** Rules 16 and 17: the rest is dealt in rounds, from the end of the sorted list. */
function dealt(subsets: readonly AllocatedSubset[], total: number): Answer {
  const size = ({ child }: AllocatedSubset) => child?.replicas ?? 0;
  const given = new Map(subsets.map((each) => [each, amount(each.replicas ?? undefined, total)]));
  const open = subsets.filter((each) => given.get(each) === undefined);
  open.sort((a, b) => size(b) - size(a) || (a.name < b.name ? 1 : -1));
  let left = total;
  for (const share of given.values()) left -= share ?? 0;
  if (left < 0) return "greater";
  if (left > 0 && open.length === 0) return "less";
  for (let turn = 0; left > 0; turn++, left--) {
    const next = open[turn % open.length];
    if (next !== undefined) given.set(next, (given.get(next) ?? 0) + 1);
  }
  return subsets.map((each) => given.get(each) ?? 0);
}

interface Bounds {
  min: number;
  max: number;
}

/** Rule 19. */
function adapt({ child, unschedulable }: AllocatedSubset, bounds: Bounds): void {
  const { min, max } = bounds;
  const ready = child?.readyReplicas ?? 0;
  if (unschedulable && child !== undefined) {
    bounds.min = Math.max(ready, min);
    bounds.max = Math.min(ready, max);
  } else if (ready > min) bounds.min = Math.min(ready, max);
}

/** Rules 18 to 20; what a subset gets beyond the pods that may count is not paid for. */
function inRanges(subsets: readonly AllocatedSubset[], total: number, mode: AllocationMode): Answer {
  const bounds = subsets.map(({ minReplicas, maxReplicas }) => ({
    min: amount(minReplicas ?? undefined, total) ?? 0,
    max: amount(maxReplicas ?? undefined, total) ?? Infinity,
  }));
  if (bounds.some(({ min, max }) => min > max)) return "above its ceiling";
  if (mode === "adaptive")
    for (const [index, each] of subsets.entries()) adapt(each, bounds[index] ?? { min: 0, max: 0 });
  const rows = subsets.map(({ child, unschedulable }, index) => {
    const isShut = mode === "reserved" && child !== undefined && (unschedulable || child.marked);
    const room = isShut ? child.replicas - child.reserved : Infinity;
    const { min, max } = bounds[index] ?? { min: 0, max: 0 };
    return { given: 0, room, min, max: mode === "reserved" && unschedulable ? (child?.replicas ?? 0) : max };
  });
  let left = total;
  for (const bound of ["min", "max"] as const) {
    for (const row of rows) {
      if (left <= 0) break;
      // Decided before the first one is given: those that are not paid for do not make room for more.
      for (let add = Math.min(row[bound] - row.given, left); add > 0; add--) {
        if (row.given < row.room) left--;
        row.given++;
      }
    }
  }
  return rows.map(({ given }) => given);
}

const shares = fc.oneof(
  fc.integer({ min: 0, max: 8 }),
  fc.integer({ min: 0, max: 100 }).map((percent) => `${percent}%`),
);
const child = fc
  .record({ replicas: fc.nat(9), readyReplicas: fc.nat(9), reserved: fc.nat(9), marked: fc.boolean() })
  .map((held) => ({ ...held, reserved: Math.min(held.reserved, held.replicas) }));
const numbered = fc.record({ replicas: shares }, { requiredKeys: [] });
const ranged = fc.record({ minReplicas: shares, maxReplicas: shares }, { requiredKeys: [] });
const names = fc.constantFrom("constructor", "a", "z", "b-1", "b", "toString");

const subsets = (numbers: fc.Arbitrary<Partial<AllocatedSubset>>) => {
  const one = fc
    .tuple(names, numbers, fc.option(child, { nil: undefined }), fc.boolean())
    .map(([name, given, held, isShut]): AllocatedSubset => {
      const unschedulable = isShut && held !== undefined;
      const reserved = unschedulable ? held.reserved : 0;
      return { name, ...given, child: held && { ...held, reserved }, unschedulable };
    });
  return fc.uniqueArray(one, { selector: ({ name }) => name, maxLength: 5 });
};

function answerOf(all: readonly AllocatedSubset[], total: number, mode: AllocationMode): Answer {
  const found = allocate(all, total, mode);
  if ("replicas" in found) return found.replicas;
  if (found.problem.includes("must be more than or equal to")) return "above its ceiling";
  return found.problem.includes("is greater than") ? "greater" : "less";
}

t.test("pods are divided as the text says", async (t) => {
  const counted = new Map<string, number>();
  const check = (all: readonly AllocatedSubset[], total: number, mode: AllocationMode, wanted: Answer) => {
    t.same(answerOf(all, total, mode), wanted, `${mode} ${total} ${JSON.stringify(all)}`);
    const kind = typeof wanted === "string" ? wanted : mode;
    counted.set(kind, (counted.get(kind) ?? 0) + 1);
  };
  const runs = { numRuns: 1000, seed: 46 };
  fc.assert(
    fc.property(subsets(numbered), fc.nat(30), (all, total) => {
      check(all, total, "byNumber", dealt(all, total));
    }),
    runs,
  );
  fc.assert(
    fc.property(
      subsets(ranged),
      fc.nat(30),
      fc.constantFrom("byNumber", "adaptive", "reserved"),
      (all, total, mode) => {
        const hasRange = all.some((each) => "minReplicas" in each || "maxReplicas" in each);
        const isDealt = mode === "byNumber" && !hasRange;
        check(all, total, mode, isDealt ? dealt(all, total) : inRanges(all, total, mode));
      },
    ),
    runs,
  );
  for (const kind of ["byNumber", "adaptive", "reserved", "greater", "less", "above its ceiling"])
    t.ok((counted.get(kind) ?? 0) > 20, `${kind}: ${counted.get(kind)}`);
});
