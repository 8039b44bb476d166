/** What changes while a phase runs: memory, queue depth, pods by state. At most 1,200 points, whatever it lasts. */
import { setInterval } from "node:timers";
import type { Clock } from "../../kube/index.ts";
import type { PodBoard } from "./pod_board.ts";
import { podStates } from "./pod_state.ts";
import { sampleProcess } from "./process_stats.ts";
import type { Series } from "./result.ts";

const mostPoints = 1_200;
/** Scraping costs the manager something: it is asked a tenth as often as the kernel. */
const samplesPerScrape = 10;

export interface SamplerOptions {
  clock: Clock;
  board: PodBoard;
  /** Ids of those that run. */
  processes(): readonly number[];
  /** Undefined where the manager serves no metrics. */
  queueDepth?: (() => Promise<number | undefined>) | undefined;
  /** Pods that are not in service; undefined where nothing bounds them. */
  unavailable(): number | undefined;
  everyMs: number;
  onSample(): void;
}

export class Sampler {
  readonly #options: SamplerOptions;
  readonly #started: number;
  readonly #timer: NodeJS.Timeout;
  readonly #series: Series = { atMs: [], residentMb: [], queueDepth: [], pods: {} };
  #readyAtNew: number[] = [];
  #peakMb = 0;
  #processes = "";
  #depth: number | null = null;
  #asking = false;
  #ticks = 0;
  /** Every how many-th tick becomes a point: doubles when the points become too many. */
  #stride = 1;

  constructor(options: SamplerOptions) {
    this.#options = options;
    this.#started = options.clock.monotonic();
    for (const state of podStates) this.#series.pods[state] = [];
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), options.everyMs);
  }

  stop(): { series: Series; peakMb: number } {
    clearInterval(this.#timer);
    this.#stride = 1;
    this.#sample();
    return { series: this.#withRevisions(), peakMb: this.#peakMb };
  }

  /** Only a phase with both old and new revisions tells them apart. */
  #withRevisions(): Series {
    const readyAtNew = this.#readyAtNew;
    const ready = this.#series.pods["ready"] ?? [];
    const hasNew = readyAtNew.some((count) => count > 0);
    const hasOld = readyAtNew.some((count, index) => count < (ready[index] ?? 0));
    return hasNew && hasOld ? { ...this.#series, readyAtNew } : this.#series;
  }

  #sample(): void {
    const { processes, onSample, queueDepth } = this.#options;
    const ids = processes();
    const residentMb = residentOf(ids);
    // The peak with a process that was ended on purpose is not that of its successors.
    if (ids.join() !== this.#processes) this.#peakMb = 0;
    this.#processes = ids.join();
    this.#peakMb = Math.max(this.#peakMb, residentMb ?? 0);
    if (queueDepth !== undefined && this.#ticks % samplesPerScrape === 0) this.#ask(queueDepth);
    if (this.#ticks % this.#stride === 0) this.#keep(residentMb ?? null);
    this.#ticks++;
    onSample();
  }

  #ask(queueDepth: () => Promise<number | undefined>): void {
    if (this.#asking) return;
    this.#asking = true;
    queueDepth()
      .then(
        (depth) => {
          this.#depth = depth ?? null;
        },
        // A manager that restarts answers again in a moment.
        () => {
          this.#depth = null;
        },
      )
      .finally(() => {
        this.#asking = false;
      });
  }

  #keep(residentMb: number | null): void {
    const { clock, board, unavailable } = this.#options;
    const { atMs, pods } = this.#series;
    atMs.push(Math.round(clock.monotonic() - this.#started));
    this.#series.residentMb.push(residentMb === null ? null : Math.round(residentMb * 10) / 10);
    this.#series.queueDepth.push(this.#depth);
    const counts = board.counts();
    for (const state of podStates) pods[state]?.push(counts[state]);
    this.#readyAtNew.push(board.readyAtNew);
    const out = unavailable();
    if (out !== undefined) {
      this.#series.unavailable ??= [];
      this.#series.unavailable.push(out);
    }
    if (atMs.length < mostPoints) return;
    this.#stride *= 2;
    const even = (_value: unknown, index: number): boolean => index % 2 === 0;
    this.#series.atMs = atMs.filter(even);
    this.#series.residentMb = this.#series.residentMb.filter(even);
    this.#series.queueDepth = this.#series.queueDepth.filter(even);
    if (this.#series.unavailable !== undefined)
      this.#series.unavailable = this.#series.unavailable.filter(even);
    for (const state of podStates) pods[state] = (pods[state] ?? []).filter(even);
    this.#readyAtNew = this.#readyAtNew.filter(even);
  }
}

/** Of all together; undefined when one is gone. */
function residentOf(ids: readonly number[]): number | undefined {
  let all = 0;
  for (const id of ids) {
    const process = sampleProcess(id);
    if (process === undefined) return undefined;
    all += process.residentMb;
  }
  return all;
}
