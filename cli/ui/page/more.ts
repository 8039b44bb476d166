/** What a workload's page has beside its pods, its budget and why it waits. */
import { html, nothing } from "lit-html";
import { rolloutKey, unreadKey } from "../shared/detail_items.ts";
import type { Item, PodItem } from "../shared/items.ts";
import { eventsCard } from "./events_card.ts";
import { hotUpgradesCard } from "./hot_upgrades_card.ts";
import { pullCard, recreateCard } from "./node_work.ts";
import { type RevisionsView, revisionsCard } from "./revisions_card.ts";
import { ruler } from "./ruler.ts";
import { ownersCard, subsetsCard } from "./subsets_card.ts";

type Items = ReadonlyMap<string, Item>;

/** Above the grid. */
export function rulerOf(items: Items, pods: readonly PodItem[]) {
  const rollout = items.get(rolloutKey);
  return rollout?.is === "rollout" ? ruler(rollout, pods) : nothing;
}

/** Below the pods, the budget and why it waits. */
export function moreCards(items: Items, view: Omit<RevisionsView, "revisions">) {
  // Each card looks for its own among them, and pods are thousands.
  const all = [...items.values()].filter(({ is }) => is !== "pod");
  return html`<div class="cards">
    ${unreadNote(items)}
    ${subsetsCard(
      all.filter((item) => item.is === "subset"),
      view.pods,
    )}
    ${ownersCard(all.filter((item) => item.is === "owner"))}
    ${hotUpgradesCard(
      all.filter((item) => item.is === "hotUpgrade"),
      view.pods.length,
    )}
    ${recreateCard(
      all.filter((item) => item.is === "recreate"),
      view.now,
    )}
    ${pullCard(
      all.filter((item) => item.is === "pull"),
      view.now,
    )}
    ${revisionsCard({ ...view, revisions: all.filter((item) => item.is === "revision") })}
    ${eventsCard(
      all.filter((item) => item.is === "event"),
      view.now,
    )}
  </div>`;
}

function unreadNote(items: Items) {
  const unread = items.get(unreadKey);
  if (unread?.is !== "unread") return nothing;
  return html`<p class="note">What follows may be old or incomplete: ${unread.what.join("; ")}.</p>`;
}
