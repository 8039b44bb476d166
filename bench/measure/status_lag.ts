/** How long the status of a workload shows less than its pods do, as two watches of somebody outside tell. */
import { ascending, quantile } from "./statistics.ts";

/** Counts of pods in one order; a status with the same counts is true of them. */
export type Counts = readonly number[];

export class StatusLag {
  readonly #now: () => number;
  /** What pods counted as, and is in no status yet; oldest first. */
  #unreported: { readonly counts: string; readonly at: number }[] = [];
  #truth = "";
  #reported = { counts: "", at: 0 };
  #lags: number[] = [];
  #writes = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  podsAre(counts: Counts): void {
    const truth = counts.join();
    if (truth === this.#truth) return;
    this.#truth = truth;
    this.#unreported.push({ counts: truth, at: this.#now() });
    // The watch of the workload was faster.
    if (this.#reported.counts === truth) this.#report(truth, this.#reported.at);
  }

  statusIs(counts: Counts): void {
    this.#writes++;
    this.#reported = { counts: counts.join(), at: this.#now() };
    this.#report(this.#reported.counts, this.#reported.at);
  }

  get isAllReported(): boolean {
    return this.#unreported.length === 0;
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
      "changes never reported": this.#unreported.length,
    };
    this.#lags = [];
    this.#writes = 0;
    return facts;
  }

  /** A status reports the newest moment that it is true of, and of all before. */
  #report(counts: string, at: number): void {
    const newest = this.#unreported.findLastIndex((one) => one.counts === counts);
    for (const { at: since } of this.#unreported.splice(0, newest + 1))
      this.#lags.push(Math.max(0, at - since));
  }
}
