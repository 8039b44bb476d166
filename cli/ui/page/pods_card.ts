/** The pods of a workload: the grid with its legend, and the table behind it. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { Item, PodItem, PodState, WorkloadItem } from "../shared/items.ts";
import type { Unfinished } from "../shared/pieces.ts";
import type { DetailChoices } from "./detail_choices.ts";
import { coloursOfRevisions, type Grid } from "./grid.ts";
import { rulerOf } from "./more.ts";
import { type GroupedPod, type Grouping, groupingsOf, groupingWords } from "./pod_groups.ts";
import { shapeSample } from "./samples.ts";
import { foldedTable } from "./tables.ts";
import { count, podStateWords } from "./words.ts";

export interface PodsView {
  readonly items: ReadonlyMap<string, Item>;
  readonly grid: Grid;
  readonly choices: DetailChoices;
  changed(): void;
}

type NamedPod = readonly [key: string, pod: PodItem];

/** In the order of the grid. */
export interface ShownPods {
  readonly groupings: readonly Grouping[];
  readonly grouped: readonly GroupedPod[];
  readonly items: readonly PodItem[];
}

export function shownPods({ items, grid, choices }: PodsView, workload: WorkloadItem): ShownPods {
  const unordered = podsOf(items);
  const groupings = groupingsOf(unordered, workload);
  const grouped = grid.order.of(unordered, chosenOf(choices, groupings));
  return { groupings, grouped, items: grouped.map(({ pod }) => pod) };
}

interface PodsToShow {
  readonly workload: WorkloadItem;
  readonly shown: ShownPods;
  readonly pointedOut: ReadonlySet<string>;
  colourOf(revision: string): number;
}

export function podsCard(
  view: PodsView,
  { workload, shown, pointedOut, colourOf }: PodsToShow,
): TemplateResult {
  const { items, grid } = view;
  const { grouped } = shown;
  const pods = grouped.map(({ key, pod }): NamedPod => [key, pod]);
  grid.show({ pods: grouped, colourOf, pointedOut }, describePods(pods, workload));
  const told = items.get(grid.told ?? "");
  return html`<section class="card padded" aria-labelledby="pods-title">
    <div class="card-head">
      <h2 id="pods-title">Pods <span class="quiet">${pods.length}</span></h2>
      ${groupingChoice(view, shown.groupings)}
    </div>
    ${rulerOf(items, shown.items)}
    ${legend(pods, workload, colourOf)}
    ${pods.length === 0 ? html`<p class="quiet">It has no pods at this time.</p>` : nothing}
    <div class="grid-frame" ?hidden=${pods.length === 0}>${grid.canvas}</div>
    <p class="told" ?hidden=${pods.length === 0}>${told?.is === "pod" ? podLine(told) : hint}</p>
    ${podTable(view, pods)}
  </section>`;
}

/** In place of numbers that would be wrong, and of a grid whose pods would move with each that comes. */
export function readingCard({ items, rest }: Unfinished<Item>): TemplateResult {
  const arrived = podsOf(items).length;
  const total = arrived + rest;
  return html`<section class="card padded reading" aria-labelledby="pods-title">
    <h2 id="pods-title">Pods</h2>
    <p class="quiet">${arrived} of ${count(total, "pod")} read</p>
    <progress value=${arrived} max=${total} aria-label="Pods that are read"></progress>
  </section>`;
}

const hint = html`<span class="quiet">Point at a pod, or move with the arrow keys, to read about it.</span>`;

function podsOf(items: ReadonlyMap<string, Item>): NamedPod[] {
  const pods: NamedPod[] = [];
  for (const [key, item] of items) if (item.is === "pod") pods.push([key, item]);
  return pods;
}

/** The newest revision has the first colour; others keep the one that they got first. */
export function colourNumber(colours: Map<string, number>, revision: string, newest: string): number {
  if (revision === newest) return 0;
  const known = colours.get(revision);
  if (known !== undefined) return known;
  const number = 1 + (colours.size % (coloursOfRevisions - 1));
  colours.set(revision, number);
  return number;
}

function groupingChoice({ choices, changed }: PodsView, offered: readonly Grouping[]): TemplateResult {
  const chosen = chosenOf(choices, offered);
  const choose = (grouping: Grouping) => () => {
    choices.order.grouping = grouping;
    changed();
  };
  const option = (grouping: Grouping): TemplateResult =>
    html`<button type="button" aria-pressed=${grouping === chosen} @click=${choose(grouping)}>${groupingWords[grouping]}</button>`;
  return html`<div class="by">
    <span class="quiet" aria-hidden="true">by</span>
    <div class="switch" role="group" aria-label="Pods by">${offered.map(option)}</div>
  </div>`;
}

/** What was chosen at a workload that has it stays chosen for the next one that has it. */
function chosenOf({ order }: DetailChoices, offered: readonly Grouping[]): Grouping {
  return offered.includes(order.grouping) ? order.grouping : "node";
}

function countBy<K>(pods: readonly NamedPod[], keyOf: (pod: PodItem) => K): Map<K, number> {
  const counts = new Map<K, number>();
  for (const [, pod] of pods) counts.set(keyOf(pod), (counts.get(keyOf(pod)) ?? 0) + 1);
  return counts;
}

function legend(
  pods: readonly NamedPod[],
  { revision: newest }: WorkloadItem,
  colourOf: (revision: string) => number,
): TemplateResult {
  const revisions = [...countBy(pods, ({ revision }) => revision)].sort(
    ([a], [b]) => colourOf(a) - colourOf(b),
  );
  const states = countBy(pods, ({ state }) => state);
  const known: PodState[] = [
    "ready",
    "starting",
    "updating",
    "pending",
    "failing",
    "terminating",
    "completed",
  ];
  const hasRevisions = revisions.some(([revision]) => revision !== "");
  return html`<ul class="legend">
    ${(hasRevisions ? revisions.slice(0, 8) : []).map(
      ([revision, number]) => html`<li>
        <i class="swatch revision-${colourOf(revision)}"></i>${revision === newest && revision !== "" ? "new " : ""}<code>${revision || "no revision"}</code>
        <span class="quiet">${number}</span>
      </li>`,
    )}
    ${known
      .filter((state) => states.has(state))
      .map(
        (state) => html`<li>
          ${shapeSample(state)}${podStateWords[state]} <span class="quiet">${states.get(state)}</span>
        </li>`,
      )}
  </ul>`;
}

function podLine({
  name,
  node,
  zone,
  subset,
  lifecycle,
  revision,
  state,
  reason,
  restarts,
  image,
}: PodItem): TemplateResult {
  const parts = [
    podStateWords[state],
    reason,
    node === "" ? "on no node yet" : `on ${node}`,
    zone === "" ? "" : `in ${zone}`,
    subset === "" ? "" : `subset ${subset}`,
    revision === "" ? "" : `revision ${revision}`,
    lifecycle === "" || lifecycle === "Normal" ? "" : lifecycle,
    restarts === 0 ? "" : count(restarts, "restart"),
    image,
  ];
  return html`<b>${name}</b> <span class="quiet">${parts.filter((part) => part !== "").join(" · ")}</span>`;
}

function describePods(pods: readonly NamedPod[], { revision }: WorkloadItem): string {
  const isNew = pods.filter(([, pod]) => pod.revision === revision).length;
  const updated = revision === "" ? "" : `, ${isNew} at the new revision`;
  const states = [...countBy(pods, ({ state }) => state)].map(
    ([state, number]) => `${number} ${podStateWords[state].toLowerCase()}`,
  );
  return `${count(pods.length, "pod")}${updated}: ${states.join(", ")}. The table below has each of them.`;
}

function podTable({ choices, changed }: PodsView, rows: readonly NamedPod[]): TemplateResult {
  return foldedTable({
    title: "The pods as a table",
    label: "Table of pods",
    head: html`<tr><th scope="col">Pod</th><th scope="col">State</th><th scope="col">Node</th><th scope="col">Revision</th><th scope="col" class="right">Restarts</th></tr>`,
    rows,
    rowOf: ([, pod]) => html`<tr>
      <td>${pod.name}</td>
      <td>${podStateWords[pod.state]}${pod.reason === "" ? nothing : html` <span class="quiet">${pod.reason}</span>`}</td>
      <td>${pod.node || "–"}</td>
      <td><code>${pod.revision || "–"}</code></td>
      <td class="right">${pod.restarts}</td>
    </tr>`,
    choices,
    changed,
  });
}
