/** In which groups the grid shows pods, and in which order. */
import type { PodItem, WorkloadItem } from "../shared/items.ts";
import { compareNames } from "./name_order.ts";

export type Grouping = "node" | "zone" | "subset" | "ordinal" | "name";

export const groupingWords: Readonly<Record<Grouping, string>> = {
  node: "Node",
  zone: "Zone",
  subset: "Subset",
  ordinal: "Ordinal",
  name: "Name",
};

export interface GroupedPod {
  readonly key: string;
  readonly pod: PodItem;
  /** Heading of its group; empty where there are no groups. */
  readonly group: string;
}

type Pods = readonly (readonly [key: string, pod: PodItem])[];

const numberedKinds: ReadonlySet<string> = new Set(["StatefulSet", "UnitedDeployment"]);

/** Those that these pods can be told apart by: one that would put all of them into one group is left out. */
export function groupingsOf(pods: Pods, { kind }: Pick<WorkloadItem, "kind">): Grouping[] {
  const hasZones = pods.some(([, { zone }]) => zone !== "");
  const hasSubsets = pods.some(([, { subset }]) => subset !== "");
  const hasOrdinals = numberedKinds.has(kind) && pods.some(([, { name }]) => ordinalOf(name) !== undefined);
  return [
    "node",
    ...(hasZones ? (["zone"] as const) : []),
    ...(hasSubsets ? (["subset"] as const) : []),
    ...(hasOrdinals ? (["ordinal"] as const) : []),
    "name",
  ];
}

interface Order {
  readonly grouping: Grouping;
  /** As they were given. */
  readonly pods: Pods;
  readonly grouped: readonly Ranked[];
}

/** Remembers the order of the last pods: as long as none came, went or moved, it is not made again. */
export class PodOrder {
  #last: Order | undefined;

  of(pods: Pods, grouping: Grouping): readonly GroupedPod[] {
    const last = this.#last;
    const isSame = last !== undefined && last.grouping === grouping && isSameOrder(last.pods, pods);
    const grouped = isSame ? last.grouped.map((each) => renewed(each, pods)) : groupedPods(pods, grouping);
    this.#last = { grouping, pods, grouped };
    return grouped;
  }
}

function renewed(before: Ranked, pods: Pods): Ranked {
  const pod = pods[before.index]?.[1] ?? before.pod;
  return pod === before.pod ? before : { ...before, pod };
}

function isSameOrder(before: Pods, after: Pods): boolean {
  if (before.length !== after.length) return false;
  return before.every(([key, pod], index) => {
    const other = after[index];
    return other !== undefined && other[0] === key && isSamePlace(pod, other[1]);
  });
}

const isSamePlace = (a: PodItem, b: PodItem): boolean =>
  a === b || (a.name === b.name && a.node === b.node && a.zone === b.zone && a.subset === b.subset);

/** `index`: among the pods that were given. */
type Ranked = GroupedPod & { readonly index: number };

/** The pods in the order of their groups, in each by name. */
export function groupedPods(pods: Pods, grouping: Grouping): Ranked[] {
  const groupOf = groupsBy[grouping](pods);
  const ranked = pods.map(([key, pod], index) => ({ key, pod, index, ...groupOf(pod) }));
  // Several small orders take less time than one of all pods, whose groups would be compared again and again.
  const groups = [...Map.groupBy(ranked, ({ group }) => group)].sort(
    ([a, [left]], [b, [right]]) => (left?.rank ?? 0) - (right?.rank ?? 0) || compareNames(a, b),
  );
  return groups.flatMap(([, members]) => members.sort((a, b) => compareNames(a.pod.name, b.pod.name)));
}

/** `rank`: groups of a lower one come first, whatever their headings say. */
type GroupOf = (pod: PodItem) => { readonly group: string; readonly rank: number };

const named = (name: string, without: string) =>
  name === "" ? { group: without, rank: 1 } : { group: name, rank: 0 };

const groupsBy: Readonly<Record<Grouping, (pods: Pods) => GroupOf>> = {
  node: () => (pod) => named(pod.node, "no node yet"),
  zone: () => (pod) => named(pod.zone, "zone not known"),
  subset: () => (pod) => named(pod.subset, "no subset"),
  ordinal: groupsOfOrdinals,
  name: () => () => ({ group: "", rank: 0 }),
};

/** Rows of ten, or of a hundred where those would be too many to be read. */
function groupsOfOrdinals(pods: Pods): GroupOf {
  const highest = pods.reduce((most, [, { name }]) => Math.max(most, ordinalOf(name) ?? 0), 0);
  const size = highest < 200 ? 10 : 100;
  return ({ name }) => {
    const ordinal = ordinalOf(name);
    if (ordinal === undefined) return { group: "no ordinal", rank: Number.MAX_SAFE_INTEGER };
    const first = ordinal - (ordinal % size);
    return { group: `${first}–${first + size - 1}`, rank: first };
  };
}

/** `7` of `web-7`; undefined where the name ends otherwise. */
export function ordinalOf(name: string): number | undefined {
  const [, digits] = /-(\d{1,9})$/.exec(name) ?? [];
  return digits === undefined ? undefined : Number(digits);
}
