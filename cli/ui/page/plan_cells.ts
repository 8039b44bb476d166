/** Which pods the picture of a plan shows, in which groups, and what becomes of each. Pure. */
import type { PodItem } from "../shared/items.ts";
import type { PlanAnswer, PlannedPod, PodWay } from "../shared/plans.ts";
import type { GroupedPod } from "./pod_groups.ts";

/**
 * `held`: a setting keeps it at its old revision. `awaited`: the rollout waits for it. `old`: it is at its old revision, and this plan
 * is not about it. `kept`: it is as it should be.
 */
export type PodFate = PodWay | "awaited" | "old" | "held" | "kept";

export interface PlanCell extends GroupedPod {
  readonly fate: PodFate;
  /** From 1 on, in the order in which the requests are sent; undefined for what stays. */
  readonly order: number | undefined;
  /** What is done to it, or which reason holds it. */
  readonly text: string;
}

const now = "Now";

export const fateWords: Readonly<Record<PodFate, string>> = {
  "in place": "Changed in place",
  new: "New",
  deleted: "Deleted",
  marked: "Marked only",
  awaited: "Waited for",
  old: "Not yet",
  held: "Held back",
  kept: "As it is",
};

/** What changes first, in its order; then what a reason holds; then the rest. */
export function planCells(pods: readonly PodItem[], plan: PlanAnswer): PlanCell[] {
  const { pods: planned, about, revision } = plan;
  const known = new Map(pods.map((pod) => [`${pod.namespace}/${pod.name}`, pod]));
  const changed = planned.map((each, index) => changedCell(each, index + 1, known.get(keyOf(each))));
  const isPlanned = new Set(changed.map(({ key }) => key));
  const reasons = new Map(about.flatMap(([code, keys]) => keys.map((key) => [key, code] as const)));
  const others = [...known]
    .filter(([key]) => !isPlanned.has(key))
    .map(([key, pod]) => restingCell(key, pod, reasons.get(key), revision))
    .sort((a, b) => resting.indexOf(a.fate) - resting.indexOf(b.fate));
  return [...changed, ...others];
}

/** Whether all cells would be of pods that are as they should be. To make the cells of thousands in each frame costs most of it. */
export function isNothingPlanned(
  pods: readonly PodItem[],
  { pods: planned, about, revision }: PlanAnswer,
): boolean {
  if (planned.length > 0) return false;
  const reasons = new Set(about.flatMap(([, keys]) => keys));
  return pods.every(
    (pod) =>
      !(reasons.size > 0 && reasons.has(keyOf(pod))) && restingFate(pod, undefined, revision) === "kept",
  );
}

function changedCell(planned: PlannedPod, order: number, pod: PodItem | undefined): PlanCell {
  const { way, text } = planned;
  const shown = pod ?? podToBe(planned);
  return { key: keyOf(planned), pod: shown, group: now, fate: way, order, text };
}

/** In the order in which their groups stand. */
const resting: readonly PodFate[] = ["awaited", "old", "held", "kept"];

function restingCell(key: string, pod: PodItem, reason: string | undefined, newest: string): PlanCell {
  const fate = restingFate(pod, reason, newest);
  return { key, pod, group: fateWords[fate], fate, order: undefined, text: reason ?? restingTexts[fate] };
}

function restingFate({ revision }: PodItem, reason: string | undefined, newest: string) {
  if (reason !== undefined) return holding.has(reason) ? "held" : "awaited";
  return newest !== "" && revision !== "" && revision !== newest ? "old" : "kept";
}

/** Reasons that are settings, whose pods are those that they keep. */
const holding: ReadonlySet<string> = new Set(["Paused", "OnDelete", "Partition"]);

const restingTexts = {
  awaited: "",
  held: "",
  old: "at its old revision, and not in this step",
  kept: "nothing is to be done",
} as const;

const keyOf = ({ namespace, name }: Pick<PodItem, "namespace" | "name">): string => `${namespace}/${name}`;

/** One that is not there, or that the page has not seen yet. */
function podToBe({ namespace, name }: PlannedPod): PodItem {
  const unknown = { node: "", zone: "", subset: "", revision: "", reason: "", lifecycle: "", image: "" };
  return { is: "pod", namespace, name, ...unknown, state: "pending", restarts: 0 };
}
