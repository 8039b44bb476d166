/** What a workload's page has beside its pods, its budget and why it waits. */
import { nothing } from "lit-html";
import { rolloutKey } from "../shared/detail_items.ts";
import type { Item, PodItem } from "../shared/items.ts";
import { ruler } from "./ruler.ts";

/** Above the grid. */
export function rulerOf(items: ReadonlyMap<string, Item>, pods: readonly PodItem[]) {
  const rollout = items.get(rolloutKey);
  return rollout?.is === "rollout" ? ruler(rollout, pods) : nothing;
}
