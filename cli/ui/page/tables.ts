/** Tables of many rows: lists that are filtered and show more on request, and those that stand folded behind a grid. */
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { type Need, needs } from "../shared/needs.ts";
import { mark } from "./parts.ts";

export const rowsAtATime = 200;
const mostFolded = 500;

/** How many there are of each state; those that are pressed are shown alone. */
export function stateTiles(
  all: readonly Need[],
  words: Readonly<Record<Need, string>>,
  pressed: Set<Need>,
  changed: () => void,
): TemplateResult {
  const toggle = (state: Need): void => {
    if (!pressed.delete(state)) pressed.add(state);
    changed();
  };
  const tiles = needs.map((state) => {
    const number = all.filter((each) => each === state).length;
    if (state === "unknown" && number === 0 && !pressed.has(state)) return nothing;
    return html`<button
      type="button"
      class="tile ${state} ${number === 0 ? "none" : ""}"
      aria-pressed=${pressed.has(state)}
      @click=${() => toggle(state)}
    >
      <span class="number">${number}</span><span class="label">${mark(state)}${words[state]}</span>
    </button>`;
  });
  return html`<div class="tiles" role="group" aria-label="Filter by state">${tiles}</div>`;
}

interface ListTable<Row> {
  /** Classes of the table. */
  readonly look: string;
  readonly head: TemplateResult;
  readonly rows: readonly Row[];
  keyOf(row: Row): string;
  rowOf(row: Row): TemplateResult;
  /** `most`: rows that are shown. */
  readonly filters: { most: number };
  changed(): void;
}

export function listTable<Row>(options: ListTable<Row>): TemplateResult {
  const { look, head, rows, keyOf, rowOf, filters, changed } = options;
  const more = rows.length - filters.most;
  const showMore = (): void => {
    filters.most += rowsAtATime;
    changed();
  };
  return html`
    <div class="card">
      <table class=${look}>
        <thead>${head}</thead>
        <tbody>${repeat(rows.slice(0, filters.most), keyOf, rowOf)}</tbody>
      </table>
    </div>
    ${more <= 0 ? nothing : html`<button type="button" class="plain more" @click=${showMore}>${more} more</button>`}
  `;
}

/** In place of rows. `all`: what there is without the filters, with its number. */
export function nothingMatches(all: string, clear: () => void): TemplateResult {
  return html`<div class="empty">
    <h2>Nothing matches</h2>
    <p>None of ${all} has all that the filters ask for.</p>
    <button type="button" class="plain more" @click=${clear}>Clear the filters</button>
  </div>`;
}

interface FoldedTable<Row> {
  readonly title: string;
  /** For those who cannot see the grid. */
  readonly label: string;
  readonly head: TemplateResult;
  readonly rows: readonly Row[];
  rowOf(row: Row): TemplateResult;
  /** Its rows are made only while it is open. */
  readonly choices: { isTableOpen: boolean };
  changed(): void;
}

export function foldedTable<Row>(options: FoldedTable<Row>): TemplateResult {
  const { title, label, head, rows, rowOf, choices, changed } = options;
  const toggle = ({ currentTarget }: Event): void => {
    if (!(currentTarget instanceof HTMLDetailsElement) || currentTarget.open === choices.isTableOpen) return;
    choices.isTableOpen = currentTarget.open;
    changed();
  };
  const shown = choices.isTableOpen ? rows.slice(0, mostFolded) : [];
  return html`<details class="pod-table" ?open=${choices.isTableOpen} @toggle=${toggle}>
    <summary>${title}</summary>
    <div class="scroll" role="region" aria-label=${label} tabindex="0">
      <table>
        <thead>${head}</thead>
        <tbody>${shown.map(rowOf)}</tbody>
      </table>
    </div>
    ${rows.length > mostFolded ? html`<p class="quiet">The first ${mostFolded} of ${rows.length}.</p>` : nothing}
  </details>`;
}
