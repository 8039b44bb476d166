/** One workload: its pods, its budget, and why it waits. */
import { html, nothing, type TemplateResult } from "lit-html";
import {
  type AnswerItem,
  answerKey,
  type Item,
  type PodItem,
  type PodState,
  type ReasonItem,
  type WorkloadItem,
} from "../shared/items.ts";
import { type BudgetPoint, budgetPlot } from "./budget.ts";
import { coloursOfRevisions, type Grid } from "./grid.ts";
import { kindName } from "./list.ts";
import { moreCards, rulerOf } from "./more.ts";
import { badge, bar, command } from "./parts.ts";
import type { PlotChoice } from "./plot.ts";
import { type Grouping, groupingsOf, groupingWords } from "./pod_groups.ts";
import { shapeSample } from "./samples.ts";
import { foldedTable } from "./tables.ts";
import { count, podStateWords } from "./words.ts";

export interface DetailView {
  readonly key: string;
  readonly items: ReadonlyMap<string, Item>;
  readonly grid: Grid;
  readonly points: readonly BudgetPoint[];
  readonly until: number;
  /** Undefined while the newest is shown. */
  readonly at: number | undefined;
  readonly choices: DetailChoices;
  /** Buttons that change the workload. */
  readonly actions: TemplateResult | typeof nothing;
  /** What would happen to it. */
  readonly plan: TemplateResult | typeof nothing;
  changed(): void;
}

/** What the person at the page chose. */
export interface DetailChoices {
  /** Shared by all workloads of the page. */
  readonly order: { grouping: Grouping };
  /** Code of the reason whose pods are pointed out. */
  reason: string | undefined;
  isTableOpen: boolean;
  /** What is pointed at in the plot of the budget. */
  readonly budget: PlotChoice;
  /** Numbers of the revisions' colours, in the order in which they were seen. */
  readonly colours: Map<string, number>;
}

type NamedPod = readonly [key: string, pod: PodItem];

export function detailView(view: DetailView): TemplateResult {
  const { key, items, choices } = view;
  const workload = items.get(key);
  const answer = items.get(answerKey);
  const back = html`<a class="back" href="#/">All workloads</a>`;
  if (workload?.is !== "workload") {
    return html`${back}
      <div class="empty">
        <h1>Not here</h1>
        <p>There is no workload of this name, or it was not there at this time.</p>
      </div>`;
  }
  const unordered = podsOf(items);
  const groupings = groupingsOf(unordered, workload);
  const grouped = view.grid.order.of(unordered, chosenOf(choices, groupings));
  const podItems = grouped.map(({ pod }) => pod);
  const pods = grouped.map(({ key, pod }): NamedPod => [key, pod]);
  const said = answer?.is === "answer" ? answer : undefined;
  const colourOf = (revision: string): number => colourNumber(choices.colours, revision, workload.revision);
  const reason = said?.reasons.find(({ code }) => code === choices.reason);
  const pointedOut = new Set(reason?.pods ?? []);
  view.grid.show({ pods: grouped, colourOf, pointedOut }, describePods(pods, workload));
  const told = items.get(view.grid.told ?? "");
  return html`
    ${back} ${head(workload, said)} ${view.actions}
    <div class="columns">
      <div class="stack">
      <section class="card padded" aria-labelledby="pods-title">
        <div class="card-head">
          <h2 id="pods-title">Pods <span class="quiet">${pods.length}</span></h2>
          ${groupingChoice(view, groupings)}
        </div>
        ${rulerOf(items, podItems)}
        ${legend(pods, workload, colourOf)}
        ${pods.length === 0 ? html`<p class="quiet">It has no pods at this time.</p>` : nothing}
        <div class="grid-frame" ?hidden=${pods.length === 0}>${view.grid.canvas}</div>
        <p class="told" ?hidden=${pods.length === 0}>${told?.is === "pod" ? podLine(told) : hint}</p>
        ${podTable(view, pods)}
      </section>
        <section class="card padded" aria-labelledby="budget-title">
          <h2 id="budget-title">Budget</h2>
          ${budgetPlot({ ...view, choice: choices.budget })}
        </section>
      </div>
      <div class="side">${whyCard(view, said)}</div>
    </div>
    ${view.plan}
    ${moreCards(items, { pods: podItems, newest: workload.revision, now: view.at ?? view.until, colourOf })}
  `;
}

const hint = html`<span class="quiet">Point at a pod, or move with the arrow keys, to read about it.</span>`;

function head(workload: WorkloadItem, answer: AnswerItem | undefined): TemplateResult {
  const { name, namespace, desired, updated, available, partition, allowed, isPaused, revision } = workload;
  const fact = (label: string, value: string | number): TemplateResult =>
    html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
  return html`<header class="workload">
    <div class="title">
      <h1 title=${name}>${name}</h1>
      ${badge(workload.state === "done" ? "done" : (answer?.state ?? workload.state))} ${isPaused ? html`<span class="badge paused">Paused</span>` : nothing}
    </div>
    <p class="quiet">${kindName(workload)} · ${namespace === "" ? "whole cluster" : namespace}</p>
    ${bar(workload)}
    <dl class="facts">
      ${fact("Updated", `${updated} of ${desired}`)} ${fact("Available", `${available} of ${desired}`)}
      ${partition > 0 ? fact("Held by the partition", partition) : nothing}
      ${allowed === undefined ? nothing : fact("May be unavailable", allowed)}
      ${revision === "" ? nothing : fact("New revision", revision)}
    </dl>
  </header>`;
}

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

function groupingChoice({ choices, changed }: DetailView, offered: readonly Grouping[]): TemplateResult {
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
  const known: PodState[] = ["ready", "starting", "updating", "pending", "failing", "terminating"];
  return html`<ul class="legend">
    ${revisions.slice(0, 8).map(
      ([revision, number]) => html`<li>
        <i class="swatch revision-${colourOf(revision)}"></i>${revision === newest ? "new " : ""}<code>${revision || "no revision"}</code>
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
  const states = [...countBy(pods, ({ state }) => state)].map(
    ([state, number]) => `${number} ${podStateWords[state].toLowerCase()}`,
  );
  return `${count(pods.length, "pod")}, ${isNew} at the new revision: ${states.join(", ")}. The table below has each of them.`;
}

function podTable({ choices, changed }: DetailView, rows: readonly NamedPod[]): TemplateResult {
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

function whyCard(view: DetailView, answer: AnswerItem | undefined): TemplateResult {
  const title = html`<h2 id="why-title">Why</h2>`;
  if (answer === undefined) {
    return html`<section class="card padded" aria-labelledby="why-title">${title}<p class="quiet">Asking…</p></section>`;
  }
  const { message, reasons, next, notices, unread } = answer;
  return html`<section class="card padded" aria-labelledby="why-title">
    ${title}
    <p>${message}</p>
    ${unread === "" ? nothing : html`<p class="note">Cannot tell everything: ${unread}.</p>`}
    ${reasons.length === 0 && unread === "" ? html`<p class="good">Nothing holds it back.</p>` : nothing}
    <ul class="reasons">${reasons.map((reason) => reasonItem(view, reason))}</ul>
    ${
      next.length === 0
        ? nothing
        : html`<h3>Next</h3>
          <ul class="next">${next.map((line) => html`<li>${line}</li>`)}</ul>`
    }
    ${notices.map((notice) => html`<p class="note">${notice}.</p>`)}
    <h3>In a terminal</h3>
    ${command(answer.command)}
  </section>`;
}

function reasonItem({ choices, changed }: DetailView, reason: ReasonItem): TemplateResult {
  const { code, outlook, text, end, pods } = reason;
  const isPointedOut = choices.reason === code;
  const toggle = (): void => {
    choices.reason = isPointedOut ? undefined : code;
    changed();
  };
  return html`<li class=${outlook}>
    <b>${code}</b>
    <p>${text}</p>
    <p class="quiet">${end}</p>
    ${
      pods.length === 0
        ? nothing
        : html`<button type="button" class="plain" aria-pressed=${isPointedOut} @click=${toggle}>
          Show ${count(pods.length, "pod")}
        </button>`
    }
    ${reason.command === "" ? nothing : command(reason.command)}
  </li>`;
}
