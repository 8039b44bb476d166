/** Which pods the picture of a plan shows, in which groups, and what becomes of each. Pure. */
import type { PodItem } from "../shared/items.ts";
import type { PlanAnswer, PlannedPod, PodWay } from "../shared/plans.ts";
import type { GroupedPod } from "./pod_groups.ts";

/** `held`: a reason keeps it as it is. `kept`: it is as it should be. */
export type PodFate = PodWay | "held" | "kept";

export interface PlanCell extends GroupedPod {
  readonly fate: PodFate;
  /** From 1 on, in the order in which the requests are sent; undefined for what stays. */
  readonly order: number | undefined;
  /** What is done to it, or which reason holds it. */
  readonly text: string;
}

export const groupWords = { now: "Now", held: "Held back", kept: "As it is" } as const;

export const fateWords: Readonly<Record<PodFate, string>> = {
  "in place": "Changed in place",
  new: "New",
  deleted: "Deleted",
  marked: "Marked only",
  held: "Held back",
  kept: "As it is",
};

/** What changes first, in its order; then what a reason holds; then the rest. */
export function planCells(pods: readonly PodItem[], { pods: planned, held }: PlanAnswer): PlanCell[] {
  const known = new Map(pods.map((pod) => [`${pod.namespace}/${pod.name}`, pod]));
  const changed = planned.map((each, index) => changedCell(each, index + 1, known.get(keyOf(each))));
  const isPlanned = new Set(changed.map(({ key }) => key));
  const reasons = new Map(held.flatMap(([code, keys]) => keys.map((key) => [key, code] as const)));
  const others = [...known]
    .filter(([key]) => !isPlanned.has(key))
    .map(([key, pod]) => restingCell(key, pod, reasons.get(key)))
    .sort((a, b) => Number(a.fate === "kept") - Number(b.fate === "kept"));
  return [...changed, ...others];
}

function changedCell(planned: PlannedPod, order: number, pod: PodItem | undefined): PlanCell {
  const { way, text } = planned;
  const shown = pod ?? podToBe(planned);
  return { key: keyOf(planned), pod: shown, group: groupWords.now, fate: way, order, text };
}

function restingCell(key: string, pod: PodItem, reason: string | undefined): PlanCell {
  return reason === undefined
    ? { key, pod, group: groupWords.kept, fate: "kept", order: undefined, text: "nothing is to be done" }
    : { key, pod, group: groupWords.held, fate: "held", order: undefined, text: `held back: ${reason}` };
}

const keyOf = ({ namespace, name }: PlannedPod): string => `${namespace}/${name}`;

/** One that is not there, or that the page has not seen yet. */
function podToBe({ namespace, name }: PlannedPod): PodItem {
  const unknown = { node: "", zone: "", subset: "", revision: "", reason: "", lifecycle: "", image: "" };
  return { is: "pod", namespace, name, ...unknown, state: "pending", restarts: 0 };
}
