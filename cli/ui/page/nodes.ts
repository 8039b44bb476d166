/** All nodes and what their agents do: what needs somebody first. */
import { html, nothing, type TemplateResult } from "lit-html";
import { unreadKey } from "../shared/detail_items.ts";
import { type Item, type Need, needs } from "../shared/items.ts";
import type { NodeAgent, NodeItem, NodeWork } from "../shared/node_items.ts";
import { compareNames } from "./name_order.ts";
import { command, mark, tag } from "./parts.ts";
import { listTable, nothingMatches, rowsAtATime, stateTiles } from "./tables.ts";
import { age, count } from "./words.ts";

/** What the person at the page chose. */
export interface NodeFilters {
  text: string;
  readonly states: Set<Need>;
  /** More rows are shown on request. */
  most: number;
}

export interface NodesView {
  readonly items: ReadonlyMap<string, Item>;
  readonly filters: NodeFilters;
  readonly now: number;
  changed(): void;
}

const stateWords: Readonly<Record<Need, string>> = {
  stuck: "Needs somebody",
  unknown: "Cannot tell",
  waiting: "Held",
  progressing: "Working",
  done: "Idle",
};

/** What of a node's work is shown at once; the rest unfolds. */
const atOnce = 3;

/** What needs somebody first, of that what has for longest; then by name, numbers in it as numbers. */
export function sortedNodes(items: Iterable<Item>): NodeItem[] {
  const nodes = [...items].filter((item) => item.is === "node");
  const since = ({ since }: NodeItem): number => since ?? Number.MAX_SAFE_INTEGER;
  return nodes.sort(
    (a, b) =>
      needs.indexOf(a.state) - needs.indexOf(b.state) || since(a) - since(b) || compareNames(a.name, b.name),
  );
}

/** Each word has to be in what the row says. */
export function isNodeShown({ text, states }: NodeFilters, node: NodeItem): boolean {
  if (states.size > 0 && !states.has(node.state)) return false;
  const work = node.work.flatMap(({ what, detail, phase, message }) => [what, detail, phase, message]);
  const said = [node.name, node.zone, node.agent.version, node.reason, node.message, ...work];
  const all = said.join(" ").toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

export function nodesView(view: NodesView): TemplateResult {
  const { items, filters } = view;
  const all = sortedNodes(items.values());
  const rows = all.filter((node) => isNodeShown(filters, node));
  const unread = items.get(unreadKey);
  return html`
    <h1 class="out-of-sight">Nodes</h1>
    ${unread?.is === "unread" ? html`<p class="note">What is shown may be old or incomplete: ${unread.what.join("; ")}.</p>` : nothing}
    ${stateTiles(
      all.map(({ state }) => state),
      stateWords,
      filters.states,
      view.changed,
    )} ${search(view)}
    ${rows.length === 0 ? emptyState(all.length, view) : table(rows, view)}
  `;
}

function search({ filters, changed }: NodesView): TemplateResult {
  const typed = ({ currentTarget }: Event): void => {
    if (!(currentTarget instanceof HTMLInputElement)) return;
    filters.text = currentTarget.value;
    filters.most = rowsAtATime;
    changed();
  };
  return html`<search class="filters">
    <input
      type="search"
      id="search"
      placeholder="Node, zone, image, pod, words…   ( / )"
      aria-label="Filter by text"
      autocomplete="off"
      spellcheck="false"
      .value=${filters.text}
      @input=${typed}
    />
  </search>`;
}

function emptyState(all: number, { filters, changed }: NodesView): TemplateResult {
  if (all === 0)
    return html`<div class="empty"><h2>No nodes</h2><p>The cluster has no nodes, or none that you may see.</p></div>`;
  const clear = (): void => {
    filters.text = "";
    filters.states.clear();
    changed();
  };
  return nothingMatches(count(all, "node"), clear);
}

function table(rows: readonly NodeItem[], { filters, now, changed }: NodesView): TemplateResult {
  return listTable({
    look: "list of-nodes",
    head: html`<tr>
      <th scope="col">State</th>
      <th scope="col">Node</th>
      <th scope="col">Agent</th>
      <th scope="col">What it works on</th>
    </tr>`,
    rows,
    keyOf: ({ name }) => name,
    rowOf: (node) => row(node, now),
    filters,
    changed,
  });
}

function row(node: NodeItem, now: number): TemplateResult {
  const { state, name, zone, pods, isReady, isUnschedulable, agent } = node;
  const ready = isReady === undefined ? "readiness not known" : isReady ? "ready" : "not ready";
  const facts = [ready, zone, count(pods, "pod")].filter((fact) => fact !== "");
  return html`<tr>
    <td><span class="badge ${state}">${mark(state)}${stateWords[state]}</span></td>
    <th scope="row" class="who">
      <span class="name" title=${name}>${name}</span>
      <span class="quiet">${facts.join(" · ")}${isUnschedulable ? html` · <b>unschedulable</b>` : nothing}</span>
    </th>
    <td class="agent">${agentView(agent, now)}</td>
    <td class="work">${reasonView(node, now)} ${workView(node, now)}</td>
  </tr>`;
}

const agentWords: Readonly<Record<NodeAgent["state"], string>> = {
  ready: "Ready",
  notReady: "Not ready",
  absent: "No agent",
  untold: "Not known",
};

function agentView({ state, version, heardAt }: NodeAgent, now: number): TemplateResult {
  return html`<span>${agentWords[state]}</span>
    ${version === "" ? nothing : html`<span class="quiet">${version}</span>`}
    ${heardAt === undefined ? nothing : html`<span class="quiet">reported ${age(now - heardAt)} ago</span>`}`;
}

function reasonView({ reason, message, command: next, since }: NodeItem, now: number) {
  if (reason === "") return nothing;
  return html`<p class="entry"><span class="reason">${reason}</span>
      <span class="when quiet">${since === undefined ? nothing : age(now - since)}</span></p>
    <p class="quiet said">${message}</p>
    ${next === "" ? nothing : command(next)}`;
}

function workView({ work, moreWork, message }: NodeItem, now: number) {
  if (work.length === 0) return nothing;
  // What stands above is not said twice.
  const entry = (each: NodeWork): TemplateResult =>
    workEntry(message.includes(each.message) ? { ...each, message: "" } : each, now);
  const rest = work.slice(atOnce);
  return html`<ul class="nodes">${work.slice(0, atOnce).map(entry)}</ul>
    ${
      rest.length === 0
        ? nothing
        : html`<details>
          <summary>${rest.length + moreWork} more</summary>
          <ul class="nodes">${rest.map(entry)}</ul>
          ${moreWork === 0 ? nothing : html`<p class="quiet">and ${moreWork} that are not listed.</p>`}
        </details>`
    }`;
}

const kindWords: Readonly<Record<NodeWork["kind"], string>> = {
  pull: "Pull",
  recreate: "Recreate",
  inPlace: "In place",
};

function workEntry({ kind, what, detail, phase, message, progress, since }: NodeWork, now: number) {
  const how = progress === undefined ? phase || "Not taken up" : `${phase} ${progress} %`;
  return html`<li>
    <span class="quiet">${kindWords[kind]}</span> <code>${what}</code> ${tag(how)}
    <span class="when quiet">${since === undefined ? nothing : age(now - since)}</span>
    ${detail === "" ? nothing : html`<span class="quiet said">${detail}</span>`}
    ${message === "" ? nothing : html`<span class="quiet said">${message}</span>`}
  </li>`;
}
