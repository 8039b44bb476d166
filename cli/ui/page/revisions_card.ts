/** Revisions of a workload, the newest first, and what changed from each to the next. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { FieldChange, RevisionItem } from "../shared/detail_items.ts";
import type { PodItem } from "../shared/items.ts";
import { age, count } from "./words.ts";

export interface RevisionsView {
  readonly revisions: readonly RevisionItem[];
  readonly pods: readonly PodItem[];
  /** Of the newest revision, as pods name it; empty where the kind does not tell. */
  readonly newest: string;
  readonly now: number;
  colourOf(revision: string): number;
}

export function revisionsCard(view: RevisionsView): TemplateResult | typeof nothing {
  if (view.revisions.length === 0) return nothing;
  const sorted = view.revisions.toSorted((a, b) => b.number - a.number);
  return html`<section class="card padded" aria-labelledby="revisions-title">
    <h2 id="revisions-title">Revisions</h2>
    <ol class="revisions">
      ${sorted.map((item, index) => revisionView(item, view, index === 0))}
    </ol>
  </section>`;
}

function revisionView(item: RevisionItem, view: RevisionsView, isLast: boolean): TemplateResult {
  const { number, revision, cause, images, createdAt } = item;
  const pods = view.pods.filter((pod) => pod.revision === revision).length;
  const facts = [
    pods === 0 ? "" : count(pods, "pod"),
    createdAt === undefined ? "" : `${age(view.now - createdAt)} old`,
  ].filter((fact) => fact !== "");
  return html`<li>
    <p class="entry">
      ${pods === 0 ? html`<i class="swatch none"></i>` : html`<i class="swatch revision-${view.colourOf(revision)}"></i>`}
      <b>${number}</b> <code>${revision}</code>
      ${view.newest === revision ? html`<span class="tag">new</span>` : nothing}
      <span class="quiet">${facts.join(" · ")}</span>
    </p>
    ${cause === "" || images.includes(cause) ? nothing : html`<p class="quiet">${cause}</p>`}
    <p class="images">${images.map((image) => html`<code>${image}</code> `)}</p>
    ${changesView(item, isLast)}
  </li>`;
}

function changesView({ changes, moreChanges, since }: RevisionItem, isOpen: boolean): TemplateResult {
  if (since === undefined) return html`${nothing}`;
  const all = changes.length + moreChanges;
  if (all === 0) return html`<p class="quiet">The same as revision ${since}.</p>`;
  return html`<details ?open=${isOpen}>
    <summary>${count(all, "change")} since revision ${since}</summary>
    <dl class="changes">${changes.map(changeView)}</dl>
    ${moreChanges === 0 ? nothing : html`<p class="quiet">${moreChanges} more are not shown.</p>`}
  </details>`;
}

function changeView({ path, from, to }: FieldChange): TemplateResult {
  const value = (text: string, said: string): TemplateResult =>
    text === "" ? html`<span class="quiet">${said}</span>` : html`<code>${text}</code>`;
  return html`<div>
    <dt>${path}</dt>
    <dd class="from"><span class="out-of-sight">from </span>${value(from, "not there")}</dd>
    <dd class="to"><span class="out-of-sight">to </span>${value(to, "removed")}</dd>
  </div>`;
}
