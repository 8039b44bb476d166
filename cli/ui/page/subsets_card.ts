/** Subsets of a workload, and the owners whose pods have the sidecars of a SidecarSet. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { OwnerItem, SubsetItem } from "../shared/detail_items.ts";
import type { PodItem } from "../shared/items.ts";
import { count } from "./words.ts";

export function subsetsCard(
  subsets: readonly SubsetItem[],
  pods: readonly PodItem[],
): TemplateResult | typeof nothing {
  if (subsets.length === 0) return nothing;
  const groups = [...Map.groupBy(subsets, ({ of }) => of)];
  return html`<section class="card padded" aria-labelledby="subsets-title">
    <h2 id="subsets-title">Subsets <span class="quiet">${subsets.length}</span></h2>
    ${groups.map(
      ([of, group]) => html`<h3>${of}</h3>
        <ul class="entries close">${group.map((subset) => subsetView(subset, pods))}</ul>`,
    )}
  </section>`;
}

function subsetView(
  { name, given, wanted, present, isClosed }: SubsetItem,
  pods: readonly PodItem[],
): TemplateResult {
  const own = pods.filter(({ subset }) => subset === name);
  const there = present ?? own.length;
  return html`<li>
    <p class="entry">
      <b>${name}</b>
      ${isClosed ? html`<span class="tag bad">takes no pods</span>` : nothing}
      <span class="when">${there}${wanted === undefined ? nothing : ` of ${wanted}`} <span class="quiet">· ${given || "the rest"}</span></span>
    </p>
    ${shareBar(there, wanted ?? there)}
  </li>`;
}

export function ownersCard(owners: readonly OwnerItem[]): TemplateResult | typeof nothing {
  if (owners.length === 0) return nothing;
  const sorted = owners.toSorted(
    (a, b) => b.pods - b.updated - (a.pods - a.updated) || (a.name < b.name ? -1 : 1),
  );
  return html`<section class="card padded" aria-labelledby="owners-title">
    <h2 id="owners-title">Sidecar versions by owner <span class="quiet">${owners.length}</span></h2>
    <ul class="entries close tall" tabindex="0" role="list" aria-labelledby="owners-title">${sorted.map(ownerView)}</ul>
  </section>`;
}

function ownerView({ namespace, kind, name, pods, updated, versions }: OwnerItem): TemplateResult {
  return html`<li>
    <p class="entry">
      <b>${name}</b> <span class="quiet">${kind} · ${namespace}</span>
      <span class="when">${updated} of ${count(pods, "pod")}</span>
    </p>
    ${shareBar(updated, pods)}
    <p>
      ${versions.map(
        (each) => html`<span class="version"><code>${each.version || "not told"}</code>
          ${each.isNewest ? html`<span class="tag">new</span>` : nothing} <span class="quiet">${each.pods}</span></span> `,
      )}
    </p>
  </li>`;
}

function shareBar(part: number, whole: number): TemplateResult {
  const width = whole === 0 ? 0 : Math.min(100, (100 * part) / whole);
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="track" width="100" height="8" />
    <rect class="available" width=${width} height="8" />
  </svg>`;
}
