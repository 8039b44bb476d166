/** How long the status of a workload shows less than its pods do, as two watches of somebody outside tell. */
import { ascending, quantile } from "./statistics.ts";

/** Counts of pods in one order; a status with the same counts is true of them. */
export type Counts = readonly number[];

export class StatusLag {
  readonly #now: () => number;
  /** What pods counted as, and is in no status yet; oldest first. */
  #untold: { readonly counts: string; readonly at: number }[] = [];
  #truth = "";
  #told = { counts: "", at: 0 };
  #lags: number[] = [];
  #writes = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  podsAre(counts: Counts): void {
    const truth = counts.join();
    if (truth === this.#truth) return;
    this.#truth = truth;
    this.#untold.push({ counts: truth, at: this.#now() });
    // The watch of the workload was faster.
    if (this.#told.counts === truth) this.#tell(truth, this.#told.at);
  }

  statusIs(counts: Counts): void {
    this.#writes++;
    this.#told = { counts: counts.join(), at: this.#now() };
    this.#tell(this.#told.counts, this.#told.at);
  }

  get isAllTold(): boolean {
    return this.#untold.length === 0;
  }

  /** Since the last call. */
  facts(): Record<string, number> {
    const lags = ascending(this.#lags);
    const facts = {
      "writes of the status": this.#writes,
      "changes of counts": lags.length,
      "status lag p50, ms": Math.round(quantile(lags, 0.5)),
      "status lag p99, ms": Math.round(quantile(lags, 0.99)),
      "longest status lag, ms": Math.round(lags.at(-1) ?? Number.NaN),
      "changes never told": this.#untold.length,
    };
    this.#lags = [];
    this.#writes = 0;
    return facts;
  }

  /** A status tells of the newest moment that it is true of, and of all before. */
  #tell(counts: string, at: number): void {
    const newest = this.#untold.findLastIndex((one) => one.counts === counts);
    for (const { at: since } of this.#untold.splice(0, newest + 1)) this.#lags.push(Math.max(0, at - since));
  }
}
