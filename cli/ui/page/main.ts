/** The page: follows the server, keeps what it saw, and draws at most once a frame. */
import { html, nothing, render, type TemplateResult } from "lit-html";
import type { Change } from "../shared/differences.ts";
import { clusterKey, type Item, type Need } from "../shared/items.ts";
import { Recording } from "../shared/recording.ts";
import { type DetailChoices, detailView } from "./detail.ts";
import { Grid } from "./grid.ts";
import { type Filters, listView, rowsAtATime } from "./list.ts";
import type { BudgetPoint } from "./plot.ts";
import { clockTime } from "./words.ts";

interface Followed {
  readonly recording: Recording<Item>;
  readonly points: BudgetPoint[];
  readonly choices: DetailChoices;
}

const mostPoints = 3_000;
/** Of so many workloads the page keeps what it saw. */
const mostKept = 6;
const againMs = 2_000;
/** Of the slider: how often the server sends. */
const stepMs = 100;

const kept = new Map<string, Followed>();
const filters: Filters = { text: "", namespace: "", kind: "", states: new Set<Need>(), most: rowsAtATime };
const grid = new Grid(() => changed());

/** Key of the workload that is shown; empty for the list. */
let shown = "";
/** The time that is shown; undefined for the newest. */
let at: number | undefined;
let source: EventSource | undefined;
let isConnected = false;
/** How far the server's clock is ahead. */
let clockAhead = 0;
let frame = 0;
let isDrawn = false;

function changed(): void {
  if (frame !== 0) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    draw();
  });
}

function followedOf(key: string): Followed {
  const known = kept.get(key);
  if (known !== undefined) return known;
  const choices: DetailChoices = {
    grouping: "node",
    reason: undefined,
    isTableOpen: false,
    colours: new Map(),
  };
  const made = { recording: new Recording<Item>(), points: [], choices };
  kept.set(key, made);
  const oldest = [...kept.keys()].find((each) => each !== "" && each !== key);
  if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest);
  return made;
}

function follow(): void {
  source?.close();
  isConnected = false;
  const key = shown;
  const followed = followedOf(key);
  const opened = new EventSource(key === "" ? "/events" : `/events?workload=${encodeURIComponent(key)}`);
  source = opened;
  opened.onmessage = ({ data }: MessageEvent) => {
    const change: Change<Item> = JSON.parse(data);
    isConnected = true;
    clockAhead = change.at - Date.now();
    followed.recording.add(change);
    if (key !== "") addPoint(key, followed, change.at);
    changed();
  };
  opened.onerror = () => {
    isConnected = false;
    changed();
    // A browser tries again by itself unless it was refused.
    if (opened.readyState !== EventSource.CLOSED) return;
    setTimeout(() => {
      if (source === opened) follow();
    }, againMs);
  };
}

function addPoint(key: string, { recording, points }: Followed, time: number): void {
  const workload = recording.now.get(key);
  if (workload?.is !== "workload") return;
  let ready = 0;
  for (const item of recording.now.values()) if (item.is === "pod" && item.state === "ready") ready++;
  const out = Math.max(0, workload.desired - ready);
  const last = points.at(-1);
  if (last !== undefined && last.out === out && last.allowed === workload.allowed) return;
  points.push({ at: time, out, allowed: workload.allowed });
  if (points.length > mostPoints) points.splice(0, mostPoints / 2);
}

function route(): void {
  const key = decodeURIComponent(location.hash.replace(/^#\/?/, ""));
  if (key === shown && source !== undefined) return;
  shown = key;
  at = undefined;
  grid.chosen = undefined;
  scrollTo(0, 0);
  follow();
  changed();
}

function draw(): void {
  const root = document.getElementById("app");
  if (root === null) return;
  // What the document came with, so that there was something to see at once.
  if (!isDrawn) root.replaceChildren();
  isDrawn = true;
  const followed = followedOf(shown);
  const { recording } = followed;
  const items = at === undefined ? recording.now : recording.stateAt(at);
  const now = Date.now() + clockAhead;
  const until = isConnected ? now : (recording.span?.to ?? now);
  const view =
    shown === ""
      ? listView({ items, filters, now: at ?? now, changed })
      : recording.span === undefined
        ? html`<a class="back" href="#/">All workloads</a><p class="empty">Reading its pods…</p>`
        : detailView({
            key: shown,
            items,
            grid,
            points: followed.points,
            until,
            at,
            choices: followed.choices,
            changed,
          });
  document.title = shown === "" ? "Refit" : `${shown.slice(shown.lastIndexOf("/") + 1)} · Refit`;
  render(
    html`${top(recording.now)}
      <main class="page">${view}</main>
      ${timeBar(recording, until)}`,
    root,
  );
}

function top(items: ReadonlyMap<string, Item>): TemplateResult {
  const cluster = items.get(clusterKey);
  const problems = cluster?.is === "cluster" ? cluster.problems : [];
  const status = !isConnected
    ? html`<span class="live lost"><i></i>Not connected</span>`
    : problems.length > 0
      ? html`<span class="live partly"><i></i>Partly up to date</span>`
      : html`<span class="live"><i></i>Live</span>`;
  return html`<header class="top">
      <a class="brand" href="#/"><img src="/page/icon.svg" alt="" width="24" height="24" />Refit</a>
      <span role="status">${status}</span>
    </header>
    ${
      problems.length === 0
        ? nothing
        : html`<details class="problems">
          <summary>What is shown may be old or incomplete: ${problems.length === 1 ? "one watch does" : `${problems.length} watches do`} not work</summary>
          <ul>${problems.map((problem) => html`<li>${problem}</li>`)}</ul>
        </details>`
    }`;
}

function timeBar({ span }: Recording<Item>, until: number): TemplateResult | typeof nothing {
  if (span === undefined || until - span.from < 1_000) return nothing;
  const move = ({ currentTarget }: Event): void => {
    if (!(currentTarget instanceof HTMLInputElement)) return;
    at = Number(currentTarget.value) >= Number(currentTarget.max) ? undefined : Number(currentTarget.value);
    changed();
  };
  const live = (): void => {
    at = undefined;
    changed();
  };
  return html`<footer class="time ${at === undefined ? "" : "past"}">
    <label for="time">${at === undefined ? "Now" : clockTime(at)}</label>
    <input
      id="time"
      type="range"
      aria-label="Time that is shown"
      aria-valuetext=${at === undefined ? "now" : clockTime(at)}
      min=${span.from}
      max=${span.from + stepMs * Math.ceil((until - span.from) / stepMs)}
      step=${stepMs}
      .value=${String(at ?? until + stepMs)}
      @input=${move}
    />
    <span class="quiet since">${clockTime(span.from)}</span>
    <button type="button" class="plain" ?disabled=${at === undefined} @click=${live}>Back to now</button>
  </footer>`;
}

addEventListener("hashchange", route);
addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
  const search = document.getElementById("search");
  if (search === null) return;
  event.preventDefault();
  search.focus();
});
// Ages and the end of the time axis move on when nothing else does.
setInterval(changed, 1_000);
route();
