/** The page in a real browser, on pods that are made up: what a browser draws and keeps, and what went to it. */
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gridSays, openServed, type Served, TestBrowser } from "../../testkit/cli/page_fixture.ts";
import { pod, workload } from "../../testkit/cli/page_items_builder.ts";
import type { BenchIo } from "../io.ts";
import { ascending, quantile } from "../measure/statistics.ts";
import { bytes, duration } from "../report/words.ts";

export interface Load {
  readonly pods: number;
  readonly nodes: number;
  readonly changes: number;
  readonly minutes: number;
}

const key = "clonesets.apps.kruise.io/default/web";
const opened = 5;
const watchedMs = 10_000;
/** As often as the server sends. */
const stepMs = 100;

/** Rejects when there is no Chromium, or the page does not show what it got. */
export async function measure(load: Load, { print, signal }: BenchIo): Promise<void> {
  const browser = new TestBrowser(true);
  try {
    await firstContent(browser, print);
    await churn(browser, load, print, signal);
  } finally {
    await browser.close();
  }
}

/** A list of 100 workloads, in a page that nobody opened before. */
async function firstContent(browser: TestBrowser, print: (line: string) => void): Promise<void> {
  const [paints, lists]: [number[], number[]] = [[], []];
  let sent = 0;
  for (let time = 0; time < opened; time++) {
    const served = await openServed(browser);
    for (let each = 0; each < 100; each++)
      served.fleet.put(`clonesets.apps.kruise.io/default/web-${each}`, workload({ name: `web-${each}` }));
    const wire = await countBytes(served);
    await served.go();
    lists.push(await timeOf(served, ".list tbody tr"));
    paints.push(Number(await served.page.evaluate(firstPaint)));
    sent = wire();
    await served.close();
  }
  print(`first paint, list of 100 workloads: ${words(paints)} of ${opened} times`);
  print(`first content of them: ${words(lists)}`);
  print(`over the wire until then: ${bytes(sent)}, the first event among it`);
}

const firstPaint = `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? performance.now()`;

async function churn(
  browser: TestBrowser,
  load: Load,
  print: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const served = await openServed(browser);
  fill(served, load);
  const wire = await countBytes(served);
  await served.go(`#/${key}`);
  print(
    `first content of ${load.pods} pods, their head: ${duration(await timeOf(served, "header.workload"))}`,
  );
  print(`the grid of all of them: ${duration(await timeOf(served, ".grid"))}`);
  await gridSays(served.page, `${load.pods} pods`);
  print(`over the wire until then: ${bytes(wire())}`);
  print(await memory(served, "before"));
  const stop = change(served, load);
  try {
    for (let minute = 0; minute < load.minutes && !signal.aborted; minute++) {
      print(await frames(served));
      await sleep(60_000 - watchedMs, undefined, { signal }).catch(() => undefined);
      print(await memory(served, `after ${minute + 1} min`));
    }
  } finally {
    stop();
    await served.close();
  }
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

/** Milliseconds from the beginning of the navigation to the frame that has it. */
async function timeOf({ page }: Served, selector: string): Promise<number> {
  const at = await page.evaluate(`new Promise((resolve) => {
    const look = () => document.querySelector(${JSON.stringify(selector)}) ? resolve(performance.now()) : requestAnimationFrame(look);
    look();
  })`);
  return Number(at);
}

/** Heaps after a collection. That of the server holds the driver of the browser as well. */
async function memory({ page }: Served, when: string): Promise<string> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.enable");
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return `heap ${when}: page ${bytes(usedSize)}, server ${bytes(process.memoryUsage().heapUsed)}`;
}

function words(times: readonly number[]): string {
  const sorted = ascending(times);
  return `${duration(quantile(sorted, 0.5))} (${duration(sorted[0])} to ${duration(sorted.at(-1))})`;
}
