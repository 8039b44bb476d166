/**
 * Pods of one workload that its rollout has taken out of service and not brought back, and whether a further one may go:
 * see pace.ts. Those that are out for much longer than is usual keep nobody waiting: they are not the server's doing.
 */
import type { Clock, Pod } from "../../../kube/index.ts";
import { isReady } from "../pods/pod_state.ts";
import { Pace } from "./pace.ts";

/** Times as long as is usual. */
const MUCH_LONGER = 8;

interface Departure {
  /** Since when the pod is out of service; undefined: it is still in it. */
  since: number | undefined;
  /** How long the last write took that was to bring it back. */
  writeMs: number;
}

export class Departures {
  readonly #clock: Pick<Clock, "monotonic">;
  #pace = new Pace();
  /** By the pod's UID, in the order of their begin. */
  readonly #out = new Map<string, Departure>();
  /** The same for those that nobody waits for. */
  readonly #late = new Map<string, Departure>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** What was measured was another rollout. */
  restart(): void {
    this.#pace = new Pace();
  }

  mayBegin(): boolean {
    this.#passOver();
    return this.#out.size < this.#pace.limit;
  }

  /** Milliseconds until the first of those out counts as late. */
  get untilLateMs(): number | undefined {
    const { typicalMs } = this.#pace;
    if (typicalMs === undefined) return undefined;
    for (const { since } of this.#out.values())
      if (since !== undefined) return Math.max(0, since + typicalMs * MUCH_LONGER - this.#clock.monotonic());
    return undefined;
  }

  /** The pod is in service, and the first write that takes it out is on its way. */
  begin(pod: Pod): void {
    this.#out.set(pod.uid, { since: undefined, writeMs: 0 });
  }

  /** That write, with all that belong to it, has ended: perhaps nothing came of it. */
  ended(uid: string): void {
    const departure = this.#out.get(uid);
    if (departure !== undefined && departure.since === undefined) this.#out.delete(uid);
  }

  /** A write that was to bring the pod back has ended, so long after it was decided. */
  written(uid: string, tookMs: number): void {
    const departure = this.#out.get(uid) ?? this.#late.get(uid);
    if (departure !== undefined) departure.writeMs = tookMs;
  }

  /** What the server shows of a pod now; undefined: it is gone. Answers whether another one may begin instead. */
  see(uid: string, pod: Pod | undefined): boolean {
    const departure = this.#out.get(uid) ?? this.#late.get(uid);
    if (departure === undefined) return false;
    const now = this.#clock.monotonic();
    if (pod !== undefined && !isReady(pod)) {
      departure.since ??= now;
      return false;
    }
    const { since, writeMs } = departure;
    if (pod !== undefined && since === undefined) return false;
    this.#out.delete(uid);
    this.#late.delete(uid);
    if (pod !== undefined && since !== undefined) this.#pace.back(now, now - since, writeMs);
    return true;
  }

  #passOver(): void {
    const { typicalMs } = this.#pace;
    if (typicalMs === undefined) return;
    const before = this.#clock.monotonic() - typicalMs * MUCH_LONGER;
    for (const [uid, departure] of this.#out) {
      if (departure.since === undefined) continue;
      if (departure.since > before) return;
      this.#out.delete(uid);
      this.#late.set(uid, departure);
    }
  }
}
