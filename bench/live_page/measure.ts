/** The page in a real browser, on pods that are made up: what a browser draws and keeps, and what went to it. */
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  gridSays,
  openServed,
  type Served,
  TestBrowser,
  untilShown,
} from "../../testkit/cli/page_fixture.ts";
import { pod, workload } from "../../testkit/cli/page_items_builder.ts";
import type { BenchIo } from "../io.ts";
import { ascending, quantile } from "../measure/statistics.ts";
import { bytes, duration, megabytes } from "../report/words.ts";
import { fullAfterMs, type HeapSample, heapVerdicts, verdictWords } from "./heaps.ts";

export interface Load {
  readonly pods: number;
  readonly nodes: number;
  readonly changes: number;
  readonly minutes: number;
}

const key = "clonesets.apps.kruise.io/default/web";
const opened = 7;
/** Of each minute the first such part tells of frames; at the end of each other one the heaps are collected. */
const watchedMs = 10_000;
/** As often as the server sends. */
const stepMs = 100;

/** Whether memory was level, as far as the run tells. Rejects when there is no Chromium, or the page does not show what it got. */
export async function measure(load: Load, { print, signal }: BenchIo): Promise<boolean> {
  const browser = new TestBrowser(true);
  try {
    await firstContent(browser, print);
    await firstPods(browser, load, print);
    return await churn(browser, load, print, signal);
  } finally {
    await browser.close();
  }
}

/** A list of 100 workloads, in a page that nobody opened before. */
async function firstContent(browser: TestBrowser, print: (line: string) => void): Promise<void> {
  const [paints, lists, wholes]: [number[], number[], number[]] = [[], [], []];
  let sent = 0;
  for (let time = 0; time < opened; time++) {
    const served = await openServed(browser);
    for (let each = 0; each < 100; each++)
      served.fleet.put(`clonesets.apps.kruise.io/default/web-${each}`, workload({ name: `web-${each}` }));
    const wire = await countBytes(served);
    await noteFirst(served, [row, lastRow]);
    await served.go();
    lists.push(await timeOf(served, row));
    wholes.push(await timeOf(served, lastRow));
    paints.push(Number(await served.page.evaluate(firstPaint)));
    sent = wire();
    await served.close();
  }
  print(`first paint, list of 100 workloads: ${words(paints)} of ${opened} times`);
  print(`first content of them: ${words(lists)}; all of their rows: ${words(wholes)}`);
  print(`over the wire until then: ${bytes(sent)}, the first event among it`);
}

const row = ".list tbody tr";
const lastRow = `${row}:nth-child(100)`;
const head = "header.workload";
/** It has a height once its pods are painted. */
const grid = '.grid[style*="height"]';

const firstPaint = `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? performance.now()`;

/** One workload, in a page that nobody opened before. */
async function firstPods(browser: TestBrowser, load: Load, print: (line: string) => void): Promise<void> {
  const [heads, grids]: [number[], number[]] = [[], []];
  for (let time = 0; time < opened; time++) {
    const served = await openServed(browser);
    fill(served, load);
    await noteFirst(served, [head, grid]);
    await served.go(`#/${key}`);
    heads.push(await timeOf(served, head));
    grids.push(await timeOf(served, grid));
    await served.close();
  }
  print(`first content of ${load.pods} pods, their head: ${words(heads)} of ${opened} times`);
  print(`the grid of all of them: ${words(grids)}`);
}

async function churn(
  browser: TestBrowser,
  load: Load,
  print: (line: string) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const served = await openServed(browser);
  fill(served, load);
  const wire = await countBytes(served);
  await served.go(`#/${key}`);
  await gridSays(served.page, `${load.pods} pods`);
  print(`over the wire until then: ${bytes(wire())}`);
  const samples = [await collectedHeaps(served)];
  print(heapWords("before", samples));
  const stop = change(served, load);
  try {
    for (let minute = 0; minute < load.minutes && !signal.aborted; minute++) {
      print(await frames(served));
      for (let part = watchedMs; part < 60_000 && !signal.aborted; part += watchedMs) {
        await sleep(watchedMs, undefined, { signal }).catch(() => undefined);
        samples.push(await collectedHeaps(served));
      }
      print(heapWords(`after ${minute + 1} min`, samples));
    }
  } finally {
    stop();
    await served.close();
  }
  return tellVerdicts(samples, load, print);
}

function tellVerdicts(
  samples: readonly HeapSample[],
  { changes }: Load,
  print: (line: string) => void,
): boolean {
  const verdicts = heapVerdicts(samples, changes);
  if (verdicts === undefined) {
    const full = Math.ceil(fullAfterMs(changes) / 60_000);
    print(
      `heaps: too short to tell whether they are level, the page is full after ${full} min: --minutes ${full + 2} or more`,
    );
    return true;
  }
  for (const verdict of verdicts) print(verdictWords(verdict));
  return verdicts.every(({ isSteady }) => isSteady);
}

function fill({ fleet, one }: Served, { pods, nodes }: Load): void {
  const big = workload({ desired: pods, available: pods, allowed: Math.ceil(pods / 10) });
  fleet.put(key, big);
  one.put(key, big);
  for (let number = 0; number < pods; number++)
    one.put(`pod/${number}`, pod(number, { node: `node-${number % nodes}` }));
}

/**
 * One pod after the other begins an update; after the last one, one after the other ends it. As many as are due: on a busy
 * machine a timer comes late.
 */
function change({ one }: Served, { pods, nodes, changes }: Load): () => void {
  const began = performance.now();
  let next = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - began) * changes) / 1_000;
    for (; next < due; next++) {
      const [number, pass] = [next % pods, Math.floor(next / pods)];
      const state = pass % 2 === 0 ? "updating" : "ready";
      const revision = `revision-${Math.floor(pass / 2)}`;
      one.put(`pod/${number}`, pod(number, { node: `node-${number % nodes}`, revision, state }));
    }
  }, stepMs);
  return () => clearInterval(timer);
}

async function frames({ page }: Served): Promise<string> {
  const seen = await page.evaluate(`new Promise((resolve) => {
    const times = [];
    const look = (at) => { times.push(at); if (at - times[0] < ${watchedMs}) requestAnimationFrame(look); else resolve(times); };
    requestAnimationFrame(look);
  })`);
  const times = Array.isArray(seen) ? seen.map(Number) : [];
  const steps = ascending(times.slice(1).map((at, index) => at - (times[index] ?? at)));
  const rate = ((times.length - 1) * 1_000) / ((times.at(-1) ?? 0) - (times[0] ?? 0));
  return `frames a second: ${rate.toFixed(1)}; 99 % within ${duration(quantile(steps, 0.99))}, the longest ${duration(steps.at(-1))}`;
}

/** Bytes that came over the wire since it was called, heads included. */
async function countBytes({ page }: Served): Promise<() => number> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  let sum = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => {
    sum += encodedDataLength;
  });
  // A stream does not finish.
  const streams = new Set<string>();
  session.on("Network.responseReceived", ({ requestId, response }) => {
    if (response.mimeType === "text/event-stream") streams.add(requestId);
  });
  session.on("Network.dataReceived", ({ requestId, dataLength }) => {
    if (streams.has(requestId)) sum += dataLength;
  });
  return () => sum;
}

/**
 * From the beginning of the navigation on, the page notes when the first frame has each of them: whoever asked from outside would
 * measure how long the answer takes, too.
 */
function noteFirst({ page }: Served, selectors: readonly string[]): Promise<unknown> {
  return page.addInitScript(`{
    const seen = (window.firstSeen = {});
    const look = () => {
      for (const selector of ${JSON.stringify(selectors)})
        if (!(selector in seen) && document.querySelector(selector)) seen[selector] = performance.now();
      if (Object.keys(seen).length < ${selectors.length}) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }`);
}

/** Milliseconds from the beginning of the navigation to the frame that has it. */
async function timeOf({ page }: Served, selector: string): Promise<number> {
  let at: unknown;
  await untilShown(selector, async () => {
    at = await page.evaluate(`window.firstSeen[${JSON.stringify(selector)}]`);
    return at !== undefined;
  });
  return Number(at);
}

/** That of the server holds the driver of the browser as well. */
async function collectedHeaps({ page }: Served): Promise<HeapSample> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.enable");
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const serverMb = process.memoryUsage().heapUsed / 1_000_000;
  return { atMs: performance.now(), pageMb: usedSize / 1_000_000, serverMb };
}

function heapWords(when: string, samples: readonly HeapSample[]): string {
  const { pageMb = Number.NaN, serverMb = Number.NaN } = samples.at(-1) ?? {};
  return `heap ${when}: page ${megabytes(pageMb)}, server ${megabytes(serverMb)}`;
}

function words(times: readonly number[]): string {
  const sorted = ascending(times);
  return `${duration(quantile(sorted, 0.5))} (${duration(sorted[0])} to ${duration(sorted.at(-1))})`;
}
