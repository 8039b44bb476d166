/**
 * How many pods of a workload may be out of service at once so that none waits for another, whatever its budget allows:
 * by Little's law as many as are brought back in the time that one needs. More of them would not be brought back sooner,
 * they would wait for the server. Pure: times come from outside.
 *
 * The rate is the highest, and the time that a pod needs the shortest, that was measured lately, and now and then fewer pods
 * are let out to see whether one needs less time then. Where pods wait for their nodes and not for the server, more of them
 * out bring more back, and the number grows with each epoch.
 */

/** So many may be out whatever was measured; and of so many a median says something. */
const FEWEST = 16;
/** Beyond Little's law: chance must not leave the server idle. */
const ROOM = 1.4;
/** The server counts as busy when a pod's last write takes this part of its time out of service. */
const BUSY_SHARE = 1 / 20;
/** Of the number, in an epoch without a busy server, and in one with it: what was measured early may be too little. */
const GROWTH = 1.5;
const DECAY = 0.85;
/** With a busy server every so many epochs only a part of the pods may be out, to see what one needs then. */
const PROBE_EVERY = 6;
const PROBE = 0.6;
/** What was measured holds for so many epochs. */
const REMEMBERED = 12;

export class Pace {
  /** When the epoch began: it lasts as long as a pod is out, so that those that come back first do not speak for all. */
  #since: number | undefined;
  /** Of the epoch's pods: times out of service, and of the writes that ended them. */
  #outMs: number[] = [];
  #writeMs: number[] = [];
  #sumMs = 0;
  #typicalMs: number | undefined;
  /** Pods a millisecond, and the time of one: the latest last. */
  #epochs: { readonly rate: number; readonly outMs: number }[] = [];
  #busyEpochs = 0;
  #limit = Number.POSITIVE_INFINITY;

  /** Infinite until something was measured. */
  get limit(): number {
    return this.#limit;
  }

  /** How long a pod was out of service in the last epoch: the median. */
  get typicalMs(): number | undefined {
    return this.#typicalMs;
  }

  /**
   * A pod that was out of service for so long is back; the last write that it waited for was answered after `writeMs`, the
   * wait for its turn included.
   */
  back(now: number, outMs: number, writeMs: number): void {
    if (this.#since === undefined) {
      this.#since = now;
      return;
    }
    this.#outMs.push(outMs);
    this.#writeMs.push(writeMs);
    this.#sumMs += outMs;
    const pods = this.#outMs.length;
    const elapsed = now - this.#since;
    if (pods < FEWEST || elapsed <= 0 || elapsed < this.#sumMs / pods) return;
    this.#endEpoch(pods / elapsed, median(this.#outMs), median(this.#writeMs));
    this.#since = now;
    this.#outMs = [];
    this.#writeMs = [];
    this.#sumMs = 0;
  }

  #endEpoch(rate: number, outMs: number, writeMs: number): void {
    this.#typicalMs = outMs;
    this.#epochs = [...this.#epochs, { rate, outMs }].slice(-REMEMBERED);
    const most = Math.max(...this.#epochs.map((epoch) => epoch.rate));
    const needed = Math.min(...this.#epochs.map((epoch) => epoch.outMs));
    const grown = GROWTH * rate * outMs;
    const isBusy = writeMs >= outMs * BUSY_SHARE;
    this.#busyEpochs = isBusy ? this.#busyEpochs + 1 : 0;
    const before = Math.min(this.#limit, grown);
    const next = Math.max(ROOM * most * needed, isBusy ? DECAY * before : grown);
    const isProbe = isBusy && this.#busyEpochs % PROBE_EVERY === 0;
    this.#limit = Math.max(FEWEST, Math.ceil(isProbe ? PROBE * next : next));
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}
