/**
 * How many pods of a workload may be out of service at once so that none waits for another, whatever its budget allows:
 * by Little's law as many as are brought back in the time that one needs. More of them would not be brought back sooner,
 * they would wait for the server. Pure: times come from outside.
 *
 * The rate is the highest, and the time that a pod needs the shortest, that was measured since the rollout began. Where
 * pods wait for their nodes and not for the server, more of them out bring more back, and the number grows with each epoch.
 */

/** So many may be out whatever was measured; and of so many a median says something. */
const FEWEST = 16;
/** Beyond Little's law: chance must not leave the server idle. */
const ROOM = 1.5;
/** The server counts as busy when a pod's last write takes this part of its time out of service. */
const BUSY_SHARE = 1 / 20;
const GROWTH = 2;

interface Epoch {
  readonly since: number;
  pods: number;
  /** Sum of their times out of service. */
  outMs: number;
}

export class Pace {
  /** Lasts as long as a pod is out, so that pods that went together do not look like many a second. */
  #epoch: Epoch | undefined;
  /** Times out of service, and of the writes that ended them, of the latest pods. */
  #outMs: number[] = [];
  #writeMs: number[] = [];
  #typicalMs: number | undefined;
  #isBusy = false;
  /** Most pods a millisecond, and the shortest time. */
  #rate = 0;
  #neededMs = Number.POSITIVE_INFINITY;
  #limit = Number.POSITIVE_INFINITY;

  /** Infinite until something was measured. */
  get limit(): number {
    return this.#limit;
  }

  /** How long a pod is out of service: the median of the latest. */
  get typicalMs(): number | undefined {
    return this.#typicalMs;
  }

  /**
   * A pod that was out of service for so long is back; the last write that it waited for was answered after `writeMs`, the
   * wait for its turn included.
   */
  back(now: number, outMs: number, writeMs: number): void {
    this.#outMs.push(outMs);
    this.#writeMs.push(writeMs);
    if (this.#outMs.length >= FEWEST) this.#endBatch();
    if (this.#epoch === undefined) {
      this.#epoch = { since: now, pods: 0, outMs: 0 };
      return;
    }
    this.#epoch.pods++;
    this.#epoch.outMs += outMs;
    const { pods, since, outMs: sum } = this.#epoch;
    const elapsed = now - since;
    if (pods < FEWEST || elapsed <= 0 || elapsed < sum / pods) return;
    this.#endEpoch(pods / elapsed);
    this.#epoch = { since: now, pods: 0, outMs: 0 };
  }

  #endBatch(): void {
    const outMs = median(this.#outMs);
    this.#typicalMs = outMs;
    this.#neededMs = Math.min(this.#neededMs, outMs);
    this.#isBusy = median(this.#writeMs) >= outMs * BUSY_SHARE;
    this.#outMs = [];
    this.#writeMs = [];
  }

  #endEpoch(rate: number): void {
    this.#rate = Math.max(this.#rate, rate);
    const grown = this.#isBusy ? 0 : GROWTH * rate * (this.#typicalMs ?? 0);
    this.#limit = Math.max(FEWEST, Math.ceil(ROOM * this.#rate * this.#neededMs), Math.ceil(grown));
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}
