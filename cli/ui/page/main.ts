/** The page: follows the server, keeps what it saw, and draws at most once a frame. */
import { html, nothing, render, type TemplateResult } from "lit-html";
import { answerKey, clusterKey, type Item, type Need } from "../shared/items.ts";
import { nodesKey } from "../shared/node_items.ts";
import { Assembly, type Piece } from "../shared/pieces.ts";
import { isPlannedKind, manifestViewKey } from "../shared/plans.ts";
import { blockType, type RecordedLine, readBlocks } from "../shared/recorded.ts";
import { Recording } from "../shared/recording.ts";
import { ActionDialog, actionButtons, offeredActions } from "./acting.ts";
import type { BudgetPoint } from "./budget.ts";
import { detailView, readingView } from "./detail.ts";
import type { DetailChoices } from "./detail_choices.ts";
import { Grid } from "./grid.ts";
import { type Filters, listView } from "./list.ts";
import { type NodeFilters, nodesView } from "./nodes.ts";
import { manifestView, planCard } from "./plan_card.ts";
import { dropHint, takeDrops } from "./plan_drop.ts";
import { Planner } from "./planner.ts";
import { Playback, timeBar } from "./playback.ts";
import { nodesNotRecorded, notRecorded, type Played, playedNote, playedStatus } from "./played.ts";
import { newPlotChoice } from "./plot.ts";
import { rowsAtATime } from "./tables.ts";

interface Followed {
  readonly recording: Recording<Item>;
  readonly points: BudgetPoint[];
  readonly choices: DetailChoices;
}

const mostPoints = 3_000;
/** Of so many workloads the page keeps what it saw. */
const mostKept = 6;
const againMs = 2_000;

const kept = new Map<string, Followed>();
const filters: Filters = {
  text: "",
  labels: "",
  namespace: "",
  kind: "",
  states: new Set<Need>(),
  most: rowsAtATime,
};
const nodeFilters: NodeFilters = { text: "", states: new Set<Need>(), most: rowsAtATime };
const order: DetailChoices["order"] = { grouping: "node" };
const grid = new Grid(() => changed());
const planner = new Planner(() => changed(), {
  shown: () => (hasPlan() ? shown : manifestViewKey),
  go: (key) => {
    location.hash = `#/${key}`;
    // The event comes later, and a frame may come between.
    route();
  },
});
const playback = new Playback();
const offered = offeredActions();
const dialog = new ActionDialog();
/** What the document itself holds, in place of a server that is followed. */
const blocks = [...document.querySelectorAll(`script[type="${blockType}"]`)].map((each) => each.textContent);
/** In a document that plays alone the icon is a part of it. */
const icon = document.querySelector('link[rel="icon"]')?.getAttribute("href") ?? "";

/** Key of the workload that is shown, or of the nodes; empty for the list. */
let shown = "";
/** The recording that is played, once it is read; undefined while a server is followed. */
let played: Played | undefined;
let source: EventSource | undefined;
/** What comes from it, until a whole state is there. */
let assembly = new Assembly<Item>();
let isConnected = false;
/** How far the server's clock is ahead. */
let clockAhead = 0;
let frame = 0;
let isDrawn = false;
/** Nothing has come yet. What the document came with says so, and to draw the same would delay what comes. */
let isAwaiting = blocks.length === 0;
/** The rows that a window shows were drawn; the others follow. */
let hasListed = false;

function changed(): void {
  if (frame !== 0 || isAwaiting) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    draw();
  });
}

function followedOf(key: string): Followed {
  const known = kept.get(key);
  if (known !== undefined) return known;
  const choices: DetailChoices = {
    order,
    reason: undefined,
    isTableOpen: false,
    budget: newPlotChoice(),
    colours: new Map(),
  };
  const isBounded = blocks.length === 0;
  const made = { recording: new Recording<Item>(isBounded ? undefined : Infinity), points: [], choices };
  kept.set(key, made);
  if (!isBounded) return made;
  const oldest = [...kept.keys()].find((each) => each !== "" && each !== key);
  if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest);
  return made;
}

/** Manifests are planned beside the list. */
const feedOf = (key: string): string => (key === manifestViewKey ? "" : key);

function follow(): void {
  source?.close();
  isConnected = false;
  const key = feedOf(shown);
  const followed = followedOf(key);
  const opened = new EventSource(key === "" ? "/events" : `/events?workload=${encodeURIComponent(key)}`);
  source = opened;
  const arriving = new Assembly<Item>();
  assembly = arriving;
  opened.onmessage = ({ data }: MessageEvent) => {
    const piece: Piece<Item> = JSON.parse(data);
    const isGoingOn = arriving.unfinished !== undefined;
    const change = arriving.take(piece);
    clockAhead = piece.at - Date.now();
    // What was there before it broke off is old until the new state is whole.
    isConnected ||= change !== undefined || followed.recording.span === undefined;
    isAwaiting = false;
    // How many have come is drawn each second: a frame of each piece would delay the next.
    if (change !== undefined || !isGoingOn) changed();
    if (change === undefined) return;
    followed.recording.add(change);
    if (key !== "" && key !== nodesKey) addPoint(key, followed, change.at);
  };
  opened.onerror = () => {
    isConnected = false;
    isAwaiting = false;
    changed();
    // A browser tries again by itself unless it was refused.
    if (opened.readyState !== EventSource.CLOSED) return;
    setTimeout(() => {
      if (source === opened) follow();
    }, againMs);
  };
}

function take(line: RecordedLine): void {
  if ("end" in line) return;
  const { feed, change } = line;
  const followed = followedOf(feed);
  followed.recording.add(change);
  if (feed !== "") addPoint(feed, followed, change.at);
}

/** All of a recording at once; then it is moved through as what a server sent. */
async function readRecording(): Promise<void> {
  const lines = await readBlocks(blocks);
  for (const line of lines) take(line);
  const times = lines.flatMap((line) => ("end" in line ? [] : line.change.at));
  const ends = lines.flatMap((line) => ("end" in line ? line.end : []));
  played = { from: times[0] ?? 0, until: times.at(-1) ?? 0, end: ends[0] };
  changed();
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
  if (key === manifestViewKey) isAwaiting = false;
  if (key !== planner.key) planner.isArriving = false;
  grid.chosen = undefined;
  scrollTo(0, 0);
  if (blocks.length === 0) {
    playback.show(undefined);
    follow();
  }
  changed();
}

function draw(): void {
  const root = document.getElementById("app");
  if (root === null) return;
  // What the document came with, so that there was something to see at once.
  if (!isDrawn) root.replaceChildren();
  isDrawn = true;
  const followed = followedOf(feedOf(shown));
  const { recording } = followed;
  const now = played?.until ?? Date.now() + clockAhead;
  const until = isConnected ? now : (played?.until ?? recording.span?.to ?? now);
  playback.advance(performance.now(), until);
  if (playback.isPlaying) changed();
  document.title = titleOf(shown);
  render(
    html`${top(recording.now)}
      <main class="page">${viewOf(followed, until, playback.at ?? now)}</main>
      ${shown === manifestViewKey ? nothing : timeBar({ recording, playback, until, isRecorded: played !== undefined, changed })}
      ${dropHint(planner)}`,
    root,
  );
  if (planner.isArriving) arrive();
}

/** At the plan, once it is there. */
function arrive(): void {
  const title = document.getElementById("plan-title");
  if (title === null || shown !== planner.key) return;
  planner.isArriving = false;
  title.scrollIntoView();
  title.focus();
}

function titleOf(key: string): string {
  if (key === manifestViewKey) return "Plan a manifest · Refit";
  const name = key === nodesKey ? "Nodes" : key.slice(key.lastIndexOf("/") + 1);
  return name === "" ? "Refit" : `${name} · Refit`;
}

function viewOf({ recording, points, choices }: Followed, until: number, now: number): TemplateResult {
  const { at } = playback;
  const items = at === undefined ? recording.now : recording.stateAt(at);
  const isNow = at === undefined && blocks.length === 0;
  if (shown === "") return listPart(recording, items, now);
  if (shown === nodesKey) return nodesPart(recording, items, now);
  const back = html`<a class="back" href="#/">All workloads</a>`;
  if (shown === manifestViewKey) return html`${back}${manifestPlan()}`;
  if (played !== undefined && !isRecorded(items, recording.span?.from ?? 0))
    return html`${back}${notRecorded}`;
  if (played === undefined && recording.span === undefined) return html`${back}${readingPart(choices)}`;
  // What is past cannot be changed or planned, nor what is only played.
  const actions = isNow ? actionButtons(offered, dialog, { key: shown, items, grid }) : nothing;
  const plan = isNow ? planOf(items) : nothing;
  return html`${back}${detailView({ key: shown, items, grid, points, until, at, choices, actions, plan, changed })}`;
}

function readingPart(choices: DetailChoices): TemplateResult {
  const { unfinished } = assembly;
  if (unfinished === undefined) return html`<p class="empty">Reading its pods…</p>`;
  return readingView({ key: shown, unfinished, choices, changed });
}

function hasPlan(): boolean {
  const workload = kept.get(shown)?.recording.now.get(shown);
  return workload?.is === "workload" && isPlannedKind(workload);
}

function manifestPlan(): TemplateResult {
  if (blocks.length > 0) return notRecorded;
  planner.show(manifestViewKey);
  return manifestView({ items: new Map(), planner, changed });
}

/** It is made again when the answer to why it waits is another one. */
function planOf(items: ReadonlyMap<string, Item>) {
  planner.follow(shown, items.get(answerKey), performance.now());
  return planCard({ key: shown, items, planner, changed });
}

/** The first frame has as many rows as a window shows, the next one has all: the words that are looked for come sooner. */
function listPart({ span }: Recording<Item>, items: ReadonlyMap<string, Item>, now: number): TemplateResult {
  const isFirst = !hasListed;
  hasListed ||= span !== undefined;
  if (isFirst && hasListed) changed();
  const canPlan = playback.at === undefined && blocks.length === 0;
  return listView({ items, filters, now, canPlan, isFirst, changed });
}

function nodesPart({ span }: Recording<Item>, items: ReadonlyMap<string, Item>, now: number): TemplateResult {
  if (blocks.length > 0) return nodesNotRecorded;
  if (span === undefined) return html`<p class="empty">Reading the nodes…</p>`;
  return nodesView({ items, filters: nodeFilters, now: playback.at ?? now, changed });
}

/** The views that stand beside each other. A recording holds no nodes, so nothing leads there. */
function views(): TemplateResult | typeof nothing {
  if (blocks.length > 0) return nothing;
  const link = (key: string, words: string): TemplateResult => {
    const isInside = (key === nodesKey) === (shown === nodesKey);
    return html`<a href="#/${key}" aria-current=${key === shown ? "page" : String(isInside)}>${words}</a>`;
  };
  return html`<nav class="views" aria-label="Views">${link("", "Workloads")}${link(nodesKey, "Nodes")}</nav>`;
}

/** False for a workload that the list has at a time at which it was not followed itself. */
function isRecorded(items: ReadonlyMap<string, Item>, from: number): boolean {
  const { at } = playback;
  const { recording } = followedOf("");
  const listed = at === undefined ? recording.now : recording.stateAt(at);
  return !listed.has(shown) || (items.has(shown) && (at ?? from) >= from);
}

function top(items: ReadonlyMap<string, Item>): TemplateResult {
  const cluster = items.get(clusterKey);
  const problems = cluster?.is === "cluster" ? cluster.problems : [];
  const status =
    played !== undefined
      ? playedStatus(played)
      : !isConnected
        ? html`<span class="live lost"><i></i>Not connected</span>`
        : problems.length > 0
          ? html`<span class="live partly"><i></i>Partly up to date</span>`
          : html`<span class="live"><i></i>Live</span>`;
  return html`<header class="top">
      <a class="brand" href="#/"><img src=${icon} alt="" width="24" height="24" />Refit</a>
      ${views()}
      <span role="status">${status}</span>
    </header>
    ${played === undefined ? nothing : playedNote(played)}
    ${
      problems.length === 0
        ? nothing
        : html`<details class="problems">
          <summary>What is shown may be old or incomplete: ${problems.length === 1 ? "one watch does" : `${problems.length} watches do`} not work</summary>
          <ul>${problems.map((problem) => html`<li>${problem}</li>`)}</ul>
        </details>`
    }`;
}

addEventListener("hashchange", route);
if (blocks.length === 0) takeDrops(planner, () => playback.at === undefined, changed);
addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
  const search = document.getElementById("search");
  if (search === null) return;
  event.preventDefault();
  search.focus();
});
// Ages and the end of the time axis move on when nothing else does; and so long a wait is to be told.
setInterval(() => {
  isAwaiting = false;
  changed();
}, 1_000);
route();
if (blocks.length > 0) void readRecording();
