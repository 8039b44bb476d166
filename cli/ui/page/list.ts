/** The list of all workloads: what needs somebody first. */
import { html, nothing, type TemplateResult } from "lit-html";
import { clusterKey, type Item, type Need, needs, type WorkloadItem } from "../shared/items.ts";
import { type LabelFilter, labelFilter } from "../shared/label_filter.ts";
import { manifestViewKey } from "../shared/plans.ts";
import { badge, bar, wantsPods } from "./parts.ts";
import { listTable, nothingMatches, rowsAtATime, stateTiles } from "./tables.ts";
import { age, needWords } from "./words.ts";

export interface Filters {
  text: string;
  /** A selector as of kubectl's `-l`. */
  labels: string;
  namespace: string;
  kind: string;
  readonly states: Set<Need>;
  /** More rows are shown on request: a page of thousands is slow, and nobody reads it. */
  most: number;
}

export interface ListView {
  readonly items: ReadonlyMap<string, Item>;
  readonly filters: Filters;
  readonly now: number;
  /** False for what was recorded, and for the past. */
  readonly canPlan: boolean;
  /** Whether it is shown for the first time: then it has no more rows than a window shows. */
  readonly isFirst: boolean;
  changed(): void;
}

/** Of a window of 1,800 pixels. */
const firstRows = 30;

type Row = readonly [key: string, item: WorkloadItem];

/** What needs somebody first, of that what has for longest; then by name. */
export function sortedRows(items: ReadonlyMap<string, Item>): Row[] {
  const rows = [...items].flatMap(([key, item]): Row[] => (item.is === "workload" ? [[key, item]] : []));
  const since = ({ since }: WorkloadItem): number => since ?? Number.MAX_SAFE_INTEGER;
  return rows.sort(
    ([a, left], [b, right]) =>
      needs.indexOf(left.state) - needs.indexOf(right.state) ||
      (left.state === "done" ? 0 : since(left) - since(right)) ||
      (a < b ? -1 : 1),
  );
}

export function isShown({ text, namespace, kind, states }: Filters, item: WorkloadItem): boolean {
  if (namespace !== "" && item.namespace !== namespace) return false;
  if (kind !== "" && kindName(item) !== kind) return false;
  if (states.size > 0 && !states.has(item.state)) return false;
  const said = `${item.namespace} ${item.kind} ${item.name} ${item.reason} ${item.reasonText}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => said.includes(word));
}

/** Kinds of both groups have the same names. */
export function kindName({ kind, group }: WorkloadItem): string {
  const isAdvanced = group === "apps.kruise.io" && (kind === "StatefulSet" || kind === "DaemonSet");
  return isAdvanced ? `Advanced ${kind}` : kind;
}

export function listView({ items, filters, now, canPlan, isFirst, changed }: ListView): TemplateResult {
  const all = sortedRows(items);
  const labels = labelFilter(filters.labels);
  const rows = all.filter(([, item]) => isShown(filters, item) && labels.matches(item.labels));
  const cluster = items.get(clusterKey);
  const isComplete = cluster?.is === "cluster" && cluster.isComplete;
  return html`
    <h1 class="out-of-sight">Workloads</h1>
    ${stateTiles(
      all.map(([, { state }]) => state),
      needWords,
      filters.states,
      changed,
    )} ${filterRow(all, filters, labels, changed, canPlan)}
    ${rows.length === 0 ? emptyState(all.length, isComplete, filters, changed) : table(isFirst ? rows.slice(0, firstRows) : rows, filters, now, changed)}
  `;
}

function filterRow(
  all: readonly Row[],
  filters: Filters,
  { problem }: LabelFilter,
  changed: () => void,
  canPlan: boolean,
): TemplateResult {
  const sorted = (values: readonly string[]): string[] =>
    [...new Set(values)].filter((each) => each !== "").sort();
  const set = (name: "text" | "labels" | "namespace" | "kind") => (event: Event) => {
    const field = event.currentTarget;
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement)) return;
    filters[name] = field.value;
    filters.most = rowsAtATime;
    changed();
  };
  const choice = (name: "namespace" | "kind", label: string, values: readonly string[]) => html`
    <select aria-label=${label} @change=${set(name)} .value=${filters[name]}>
      <option value="">${label}</option>
      ${values.map((value) => html`<option value=${value} ?selected=${filters[name] === value}>${value}</option>`)}
    </select>
  `;
  return html`<search class="filters">
    <input
      type="search"
      id="search"
      placeholder="Name, reason, words…   ( / )"
      aria-label="Filter by text"
      autocomplete="off"
      spellcheck="false"
      .value=${filters.text}
      @input=${set("text")}
    />
    <input
      type="search"
      id="labels"
      class="labels"
      placeholder="Labels: app=web,tier!=db"
      aria-label="Filter by labels"
      aria-describedby="labels-problem"
      aria-invalid=${problem === undefined ? "false" : "true"}
      autocomplete="off"
      autocapitalize="off"
      spellcheck="false"
      .value=${filters.labels}
      @input=${set("labels")}
    />
    ${choice("namespace", "All namespaces", sorted(all.map(([, item]) => item.namespace)))}
    ${choice("kind", "All kinds", sorted(all.map(([, item]) => kindName(item))))}
    ${canPlan ? html`<a class="plain" href="#/${manifestViewKey}">Plan a manifest…</a>` : nothing}
    <p id="labels-problem" class="problem" role="status">${problem === undefined ? nothing : `The labels do not filter yet: ${problem}`}</p>
  </search>`;
}

function emptyState(all: number, isComplete: boolean, filters: Filters, changed: () => void): TemplateResult {
  if (!isComplete) return html`<p class="empty">Reading the cluster…</p>`;
  if (all === 0) {
    return html`<div class="empty">
      <h2>No workloads yet</h2>
      <p>They appear here as soon as there is one that your kubeconfig may read.</p>
    </div>`;
  }
  const clear = (): void => {
    Object.assign(filters, { text: "", labels: "", namespace: "", kind: "" });
    filters.states.clear();
    changed();
  };
  return nothingMatches(`${all} workloads`, clear);
}

function table(rows: readonly Row[], filters: Filters, now: number, changed: () => void): TemplateResult {
  return listTable({
    look: "list",
    head: html`<tr>
      <th scope="col">State</th>
      <th scope="col">Workload</th>
      <th scope="col">Progress</th>
      <th scope="col">Why</th>
      <th scope="col" class="right">For</th>
    </tr>`,
    rows,
    keyOf: ([key]) => key,
    rowOf: ([key, item]) => row(key, item, now),
    filters,
    changed,
  });
}

function row(key: string, item: WorkloadItem, now: number): TemplateResult {
  const { name, namespace, state, reason, reasonText, message, since, isPaused } = item;
  const place = namespace === "" ? "whole cluster" : namespace;
  const why =
    reason === ""
      ? html`<span class="words quiet">${state === "done" ? "" : message}</span>`
      : html`<span class="reason">${reason}</span> <span class="words" title=${reasonText}>${reasonText}</span>`;
  return html`<tr>
    <td>${badge(state)}</td>
    <td class="who">
      <a href="#/${key}" title=${name}>${name}</a>
      <span class="quiet">${kindName(item)} · ${place}${isPaused ? html` · <b>paused</b>` : nothing}</span>
    </td>
    <td class="how-far">${wantsPods(item) ? html`${bar(item)}<span class="quiet">${counts(item)}</span>` : nothing}</td>
    <td class="why">${why}</td>
    <td class="right quiet">${since === undefined || state === "done" ? "" : age(now - since)}</td>
  </tr>`;
}

function counts({ isJob, desired, updated, available }: WorkloadItem): TemplateResult {
  if (isJob) return html`<b>${updated}</b> of ${desired} succeeded`;
  const missing = Math.max(0, desired - available);
  return html`<b>${updated}</b> of ${desired}${missing === 0 ? nothing : html` · <b>${missing}</b> unavailable`}`;
}
