/** One workload: its pods, its budget, and why it waits. */
import { html, nothing, type TemplateResult } from "lit-html";
import {
  type AnswerItem,
  answerKey,
  type Item,
  type ReasonItem,
  type WorkloadItem,
} from "../shared/items.ts";
import type { Unfinished } from "../shared/pieces.ts";
import { type BudgetPoint, budgetPlot } from "./budget.ts";
import { kindName } from "./list.ts";
import { moreCards } from "./more.ts";
import { badge, bar, command, wantsPods } from "./parts.ts";
import { colourNumber, type PodsView, podsCard, readingCard, shownPods } from "./pods_card.ts";
import { count } from "./words.ts";

export interface DetailView extends PodsView {
  readonly key: string;
  readonly points: readonly BudgetPoint[];
  readonly until: number;
  /** Undefined while the newest is shown. */
  readonly at: number | undefined;
  /** Buttons that change the workload. */
  readonly actions: TemplateResult | typeof nothing;
  /** What would happen to it. */
  readonly plan: TemplateResult | typeof nothing;
}

export function detailView(view: DetailView): TemplateResult {
  const { key, items, choices } = view;
  const workload = items.get(key);
  if (workload?.is !== "workload") return notHere;
  const answer = answerIn(items);
  const colourOf = (revision: string): number => colourNumber(choices.colours, revision, workload.revision);
  const reason = answer?.reasons.find(({ code }) => code === choices.reason);
  const shown = shownPods(view, workload);
  return html`
    ${head(workload, answer)} ${view.actions}
    <div class="columns">
      <div class="stack">
        ${podsCard(view, { workload, shown, colourOf, pointedOut: new Set(reason?.pods ?? []) })}
        ${workload.isJob ? nothing : budgetCard(view)}
      </div>
      <div class="side">${whyCard(view, answer)}</div>
    </div>
    ${view.plan}
    ${moreCards(items, { pods: shown.items, newest: workload.revision, now: view.at ?? view.until, colourOf })}
  `;
}

function budgetCard(view: DetailView): TemplateResult {
  return html`<section class="card padded" aria-labelledby="budget-title">
    <h2 id="budget-title">Budget</h2>
    ${budgetPlot({ ...view, choice: view.choices.budget })}
  </section>`;
}

interface ReadingView extends Pick<DetailView, "key" | "choices" | "changed"> {
  readonly unfinished: Unfinished<Item>;
}

/** What is right before all pods have come. */
export function readingView(view: ReadingView): TemplateResult {
  const { key, unfinished } = view;
  const workload = unfinished.items.get(key);
  if (workload?.is !== "workload") return notHere;
  const answer = answerIn(unfinished.items);
  return html`
    ${head(workload, answer)}
    <div class="columns">
      <div class="stack">${readingCard(unfinished)}</div>
      <div class="side">${whyCard(view, answer)}</div>
    </div>
  `;
}

const notHere = html`<div class="empty">
  <h1>Not here</h1>
  <p>There is no workload of this name, or it was not there at this time.</p>
</div>`;

function answerIn(items: ReadonlyMap<string, Item>): AnswerItem | undefined {
  const answer = items.get(answerKey);
  return answer?.is === "answer" ? answer : undefined;
}

type Choosing = Pick<DetailView, "choices" | "changed">;

function head(workload: WorkloadItem, answer: AnswerItem | undefined): TemplateResult {
  const { name, namespace, isPaused } = workload;
  return html`<header class="workload">
    <div class="title">
      <h1 title=${name}>${name}</h1>
      ${badge(workload.state === "done" ? "done" : (answer?.state ?? workload.state))} ${isPaused ? html`<span class="badge paused">Paused</span>` : nothing}
    </div>
    <p class="quiet">${kindName(workload)} · ${namespace === "" ? "whole cluster" : namespace}</p>
    ${wantsPods(workload) ? bar(workload) : nothing}
    <dl class="facts">${factsOf(workload).map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>
  </header>`;
}

function factsOf(workload: WorkloadItem): (readonly [label: string, value: string | number])[] {
  const { isJob, desired, updated, available, partition, allowed, revision } = workload;
  if (!wantsPods(workload)) return [];
  if (isJob)
    return [
      ["Succeeded", `${updated} of ${desired}`],
      ["Running", available - updated],
    ];
  return [
    ["Updated", `${updated} of ${desired}`],
    ["Available", `${available} of ${desired}`],
    ...(partition > 0 ? [["Held by the partition", partition] as const] : []),
    ...(allowed === undefined ? [] : [["May be unavailable", allowed] as const]),
    ...(revision === "" ? [] : [["New revision", revision] as const]),
  ];
}

function whyCard(view: Choosing, answer: AnswerItem | undefined): TemplateResult {
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

function reasonItem({ choices, changed }: Choosing, reason: ReasonItem): TemplateResult {
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
