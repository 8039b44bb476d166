/** How far a rollout may go, as its spec says: for the ruler of the page. */
import { type AnyObject, fieldsAt, listAt, textAt, textsAt } from "../../fields.ts";
import type { ResourceType } from "../../resource_types.ts";
import type { Partition } from "../../rollout/partition.ts";
import { podCounts } from "../../rollout/pod_counts.ts";
import { partitionsOf, workloadNamed } from "../../rollout/workloads.ts";
import { shownText } from "../../why/causes/shown_text.ts";
import type { LifecycleHook, RolloutItem, RolloutScale } from "../shared/detail_items.ts";

/** More are left out. */
const mostScales = 20;
const mostHandlers = 12;

/** Undefined for a kind without partitions: nothing but its budget says how far it may go. */
export function rolloutItem(type: ResourceType, object: AnyObject): RolloutItem | undefined {
  const workload = workloadNamed(type);
  const partitions = workload && partitionsOf(workload, object);
  if (partitions === undefined) return undefined;
  return {
    is: "rollout",
    scales: scalesOf(partitions, object).slice(0, mostScales),
    hooks: hookNames.flatMap((name) => hookOf(name, object)),
    isOnDelete: textAt(object, "spec", "updateStrategy", "type") === "OnDelete",
  };
}

/** One partition is that of the whole; several are those of subsets. */
function scalesOf(partitions: readonly Partition[], object: AnyObject): RolloutScale[] {
  const { desired, updated } = podCounts(object);
  const ofSubsets = partitions.filter(({ label }) => label !== "partition");
  const [whole] = partitions.filter(({ label }) => label === "partition");
  const kept = partitions.reduce((sum, each) => sum + each.kept, 0);
  const first: RolloutScale = {
    label: whole?.label ?? "",
    given: whole === undefined ? "" : shownText(String(whole.value)),
    total: whole?.total ?? desired,
    kept: Math.min(kept, whole?.total ?? desired),
    updated,
  };
  return [first, ...ofSubsets.map(scaleOf)];
}

function scaleOf({ label, value, total = 0, kept }: Partition): RolloutScale {
  return { label: shownText(label), given: shownText(String(value)), total, kept: Math.min(kept, total) };
}

const hookNames: readonly LifecycleHook["name"][] = ["preDelete", "inPlaceUpdate", "preNormal"];

function hookOf(name: LifecycleHook["name"], object: AnyObject): LifecycleHook[] {
  const path = ["spec", "lifecycle", name] as const;
  if (Object.keys(fieldsAt(object, ...path)).length === 0) return [];
  const labels = Object.entries(textsAt(object, ...path, "labelsHandler")).map((pair) => pair.join("="));
  const finalizers = listAt(object, ...path, "finalizersHandler").map(String);
  return [
    { name, handlers: [...labels, ...finalizers].slice(0, mostHandlers).map((each) => shownText(each)) },
  ];
}
