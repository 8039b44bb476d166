/** What would happen to a workload: now, or if a manifest were applied. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { Item, PodItem, ReasonItem } from "../shared/items.ts";
import {
  isPlannedKind,
  manifestViewKey,
  type PlanAnswer,
  type PlanChoices,
  planCommand,
} from "../shared/plans.ts";
import { command } from "./parts.ts";
import { fateWords, isNothingPlanned, type PlanCell, type PodFate, planCells } from "./plan_cells.ts";
import { takeFiles } from "./plan_drop.ts";
import { fateSamples, planPainter } from "./plan_paint.ts";
import type { Planned, Planner } from "./planner.ts";
import { foldedTable } from "./tables.ts";
import { count } from "./words.ts";

export interface PlanView {
  readonly key: string;
  readonly items: ReadonlyMap<string, Item>;
  readonly planner: Planner;
  changed(): void;
}

export function planCard(view: PlanView): TemplateResult | typeof nothing {
  const { key, items, planner } = view;
  const workload = items.get(key);
  if (workload?.is !== "workload" || !isPlannedKind(workload)) return nothing;
  const isLive = planner.mode === "live";
  const file = planner.given?.draft.file ?? "";
  const manifest = file === "" ? "the manifest" : file;
  return html`<section class="card padded plan" aria-labelledby="plan-title">
    <div class="card-head">
      <h2 id="plan-title" tabindex="-1">${isLive ? "What would happen now" : `If ${manifest} were applied`}</h2>
      ${modeChoice(planner)}
    </div>
    ${isLive ? nothing : manifestFields(planner)}
    ${isLive || planner.given !== undefined ? answer(view, planCommand(workload, isLive ? undefined : file)) : nothing}
  </section>`;
}

/** For a manifest of whatever is not in the list, or not yet known. */
export function manifestView(view: Omit<PlanView, "key">): TemplateResult {
  const { given } = view.planner;
  const file = given?.draft.file ?? "";
  const planned = given?.planned;
  const of = planned !== undefined && "of" in planned ? planned.of : undefined;
  const typed = planCommand({ word: "", namespace: of?.namespace ?? "" }, file);
  return html`<h1>Plan a manifest</h1>
  <p class="quiet">What the controller would do with it. It may be of a workload that is there, or of a new one.</p>
  <section class="card padded plan" aria-labelledby="plan-title">
    <h2 id="plan-title" tabindex="-1">${given === undefined ? "The manifest" : `If ${file === "" ? "the manifest" : file} were applied`}</h2>
    ${manifestFields(view.planner)}
    ${given === undefined ? nothing : answer({ ...view, key: manifestViewKey }, typed)}
  </section>`;
}

function modeChoice(planner: Planner): TemplateResult {
  const option = (mode: Planner["mode"], words: string): TemplateResult =>
    html`<button type="button" aria-pressed=${planner.mode === mode} @click=${() => {
      planner.mode = mode;
    }}>${words}</button>`;
  return html`<div class="switch" role="group" aria-label="Plan">${option("live", "As it is")}${option("manifest", "With a manifest")}</div>`;
}

function manifestFields(planner: Planner): TemplateResult {
  const write = ({ currentTarget }: Event): void => {
    if (currentTarget instanceof HTMLTextAreaElement) planner.draft = { file: "", text: currentTarget.value };
  };
  const choose = ({ currentTarget }: Event): void => {
    if (!(currentTarget instanceof HTMLInputElement) || !currentTarget.files?.length) return;
    void takeFiles(planner, currentTarget.files);
    // The same file can be chosen again after it was changed.
    currentTarget.value = "";
  };
  return html`<div class="manifest">
    <label for="manifest">Manifest, as YAML or JSON</label>
    <textarea id="manifest" rows="8" spellcheck="false" autocomplete="off" aria-describedby="manifest-hint" .value=${planner.draft.text} @input=${write}></textarea>
    <div class="buttons">
      <button type="button" class="main" @click=${() => void planner.planDraft()}>Plan it</button>
      <label class="plain file">Choose a file…<input class="out-of-sight" type="file" accept=".yaml,.yml,.json" @change=${choose} /></label>
      <p id="manifest-hint" class="quiet">Or drop a file anywhere on this page. Nothing is applied.</p>
    </div>
  </div>`;
}

/** `typed`: the command that says the same. */
function answer(view: PlanView, typed: string): TemplateResult {
  const { mode, shown: planned } = view.planner;
  return html`<div class="outcome" role="status">${outcome(view.planner, planned)}</div>
    ${
      planned === undefined || "refusal" in planned || "choices" in planned
        ? html`<h3>In a terminal</h3>${command(typed)}`
        : html`<div class="plan-parts">
            <div>${picture(view, planned)}</div>
            <div>${words(planned, mode === "live")}<h3>In a terminal</h3>${command(typed)}</div>
          </div>`
    }`;
}

function outcome(planner: Planner, planned: Planned | undefined): TemplateResult {
  if (planned === undefined) return html`<p class="quiet">Asking…</p>`;
  if ("refusal" in planned) return html`<p class="refused">${planned.refusal}</p>`;
  if ("choices" in planned) return choiceOf(planner, planned);
  return html`${ofWhat(planned)}<p>${summaryOf(planned)} <span class="quiet">${planned.summary}</span></p>`;
}

function choiceOf(planner: Planner, { choices }: PlanChoices): TemplateResult {
  return html`<p>The manifest holds ${choices.length} objects that can be planned. Choose one:</p>
    <div class="choices">${choices.map(
      ([at, words]) =>
        html`<button type="button" class="plain" @click=${() => void planner.planDraft(at)}>${words}</button>`,
    )}</div>`;
}

/** Where the page has no view of it. */
function ofWhat({ of }: PlanAnswer): TemplateResult | typeof nothing {
  if (of === undefined || of.isListed) return nothing;
  const rest = of.isStored
    ? "is there, but not in the list, so pods that stay as they are do not show."
    : "is not there yet: it would be created, and then this would follow.";
  return html`<p class="of-what"><b>${of.words}</b> ${rest}</p>`;
}

function summaryOf({ pods, steps, requests, reasons }: PlanAnswer): TemplateResult {
  if (pods.length === 0 && steps.length === 0)
    return html`<b>Nothing is to be done${reasons.length === 0 ? "" : " now"}.</b>`;
  const parts = [
    pods.length === 0
      ? count(steps.length, "step")
      : `${count(pods.length, "pod")} change${pods.length === 1 ? "s" : ""}`,
    requests === undefined ? "" : count(requests, "request"),
  ];
  return html`<b>${parts.filter((part) => part !== "").join(", ")}.</b>`;
}

function picture(view: PlanView, plan: PlanAnswer): TemplateResult | typeof nothing {
  const { items, planner } = view;
  const { grid } = planner;
  const pods = podsOf(items);
  // There is no picture of nothing.
  if (isNothingPlanned(pods, plan)) return nothing;
  const cells = planCells(pods, plan);
  const byKey = new Map(cells.map((cell) => [cell.key, cell]));
  const paint = planPainter((key) => byKey.get(key));
  grid.show({ pods: cells, colourOf: () => 0, pointedOut: new Set(), paint }, describe(cells));
  const told = byKey.get(grid.told ?? "");
  return html`${legend(cells)}
    <div class="grid-frame">${grid.canvas}</div>
    <p class="told">${told === undefined ? hint(plan) : cellLine(told)}</p>
    ${table(view, plan, cells)}`;
}

function hint({ pods }: PlanAnswer): TemplateResult {
  const numbers = pods.length === 0 ? "" : "Numbers say in which order the requests are sent. ";
  return html`<span class="quiet">${numbers}Point at a pod, or move with the arrow keys, to read about it.</span>`;
}

const podsOf = (items: ReadonlyMap<string, Item>): PodItem[] =>
  [...items.values()].filter((item) => item.is === "pod");

const fates = Object.keys(fateWords).filter((fate): fate is PodFate => fate in fateSamples);

function legend(cells: readonly PlanCell[]): TemplateResult {
  return html`<ul class="legend">${countsOf(cells).map(
    ([fate, number]) =>
      html`<li><svg class="shape" viewBox="-1 -1 16 16" aria-hidden="true">${fateSamples[fate]}</svg>${fateWords[fate]} <span class="quiet">${number}</span></li>`,
  )}</ul>`;
}

function countsOf(cells: readonly PlanCell[]): (readonly [PodFate, number])[] {
  const counts = Map.groupBy(cells, ({ fate }) => fate);
  return fates.flatMap((fate) => {
    const number = counts.get(fate)?.length ?? 0;
    return number === 0 ? [] : [[fate, number] as const];
  });
}

function describe(cells: readonly PlanCell[]): string {
  const parts = countsOf(cells).map(([fate, number]) => `${number} ${fateWords[fate].toLowerCase()}`);
  return `${count(cells.length, "pod")} in the plan: ${parts.join(", ")}. The table below has each that does not stay as it is.`;
}

function cellLine({ order, pod, text, group }: PlanCell): TemplateResult {
  const place = pod.node === "" ? "" : ` · on ${pod.node}`;
  const when = order === undefined ? group : `${group}, number ${order}`;
  return html`<b>${pod.name}</b> <span class="quiet">${when} · ${text}${place}</span>`;
}

function table(
  { planner, changed }: PlanView,
  { pods }: PlanAnswer,
  cells: readonly PlanCell[],
): TemplateResult | typeof nothing {
  const told = cells.filter(({ fate }) => fate !== "kept");
  if (told.length === 0) return nothing;
  return foldedTable({
    title: "The plan as a table",
    label: "Table of the plan",
    head: html`<tr><th scope="col" class="right">Order</th><th scope="col">Pod</th><th scope="col">What</th><th scope="col" class="right">Requests</th></tr>`,
    rows: told,
    rowOf: (cell) => row(cell, pods[(cell.order ?? 0) - 1]?.requests),
    choices: planner,
    changed,
  });
}

function row({ order, pod, fate, text }: PlanCell, requests: number | undefined): TemplateResult {
  return html`<tr>
    <td class="right">${order ?? "–"}</td>
    <td>${pod.name}</td>
    <td>${fateWords[fate]} <span class="quiet">${text}</span></td>
    <td class="right">${requests ?? "–"}</td>
  </tr>`;
}

/** `isLive`: what a reason can be ended with stands there, because it holds already. */
function words({ steps, reasons, notices, againSeconds }: PlanAnswer, isLive: boolean): TemplateResult {
  return html`${
    steps.length === 0
      ? nothing
      : html`<h3>Beside pods</h3><ul class="next">${steps.map((step) => html`<li>${step}</li>`)}</ul>`
  }
    ${
      reasons.length === 0
        ? nothing
        : html`<h3>Why not more</h3><ul class="reasons">${reasons.map((reason) => reasonItem(reason, isLive))}</ul>`
    }
    ${notices.map((notice) => html`<p class="note">${notice}.</p>`)}
    ${againSeconds === undefined ? nothing : html`<p class="again quiet">The controller looks again after ${againSeconds} s.</p>`}`;
}

function reasonItem(
  { code, outlook, text, end, command: next }: ReasonItem,
  isLive: boolean,
): TemplateResult {
  return html`<li class=${outlook}>
    <b>${code}</b>
    <p>${text}</p>
    <p class="quiet">${end}</p>
    ${next === "" || !isLive ? nothing : command(next)}
  </li>`;
}
