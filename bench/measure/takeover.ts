/**
 * What becomes of the pods that a replica was at work on when it died, as the watch shows it: how long nobody writes to them,
 * and when somebody does again.
 */
import type { PodObject } from "../../sandbox/index.ts";
import type { BudgetChange } from "./budget_check.ts";
import { conditionStatus, imageOf } from "./pod_state.ts";

export interface TakeoverOptions {
  /** Shard of the pod's workload; undefined: of none of ours. */
  shardOf(pod: PodObject): number | undefined;
  /** Milliseconds. */
  now(): number;
  /** As they are before anything changes. */
  pods: Iterable<PodObject>;
}

/** Longest time between two writes, and when it ended. */
interface Gap {
  readonly ms: number;
  readonly endedAt: number;
}

class Writes {
  #last: number;
  longest: Gap = { ms: 0, endedAt: 0 };

  constructor(from: number) {
    this.#last = from;
  }

  add(at: number): void {
    const ms = at - this.#last;
    if (ms > this.longest.ms) this.longest = { ms, endedAt: at };
    this.#last = at;
  }
}

export class Takeover {
  readonly #options: TakeoverOptions;
  /** By UID. */
  readonly #written = new Map<string, string>();
  #died:
    | { readonly at: number; readonly all: Writes; readonly orphaned: ReadonlyMap<number, Writes> }
    | undefined;

  constructor(options: TakeoverOptions) {
    this.#options = options;
    for (const pod of options.pods) this.#written.set(pod.metadata.uid ?? "", writtenByManager(pod));
  }

  /** From now on nobody leads these shards. */
  died(shards: Iterable<number>): void {
    const at = this.#options.now();
    const orphaned = new Map([...shards].map((shard) => [shard, new Writes(at)]));
    this.#died = { at, all: new Writes(at), orphaned };
  }

  see({ type, object: pod }: BudgetChange): void {
    const uid = pod.metadata.uid ?? "";
    const written = writtenByManager(pod);
    const isWrite = type !== "removed" && this.#written.get(uid) !== written;
    if (type === "removed") this.#written.delete(uid);
    else this.#written.set(uid, written);
    const shard = this.#options.shardOf(pod);
    if (!isWrite || this.#died === undefined || shard === undefined) return;
    const at = this.#options.now();
    this.#died.all.add(at);
    this.#died.orphaned.get(shard)?.add(at);
  }

  /**
   * Of the shards to whose pods somebody has written since. What the dead one had sent may still arrive, so a shard is taken over
   * when the longest time without a write ends.
   */
  facts(): Record<string, number> {
    if (this.#died === undefined) return {};
    const { at, all, orphaned } = this.#died;
    const gaps = [...orphaned.values()].map(({ longest }) => longest).filter(({ ms }) => ms > 0);
    const facts = { "longest gap of all writes, ms": Math.round(all.longest.ms) };
    if (gaps.length === 0) return facts;
    const taken = gaps.map(({ endedAt }) => endedAt - at);
    return {
      "death to first write of a successor, ms": Math.round(Math.min(...taken)),
      "death to first write in its last shard, ms": Math.round(Math.max(...taken)),
      "longest gap of writes to its pods, ms": Math.round(Math.max(...gaps.map(({ ms }) => ms))),
      ...facts,
    };
  }
}

/** Nobody else writes these: a kubelet reports containers and the conditions that follow from them. */
function writtenByManager(pod: PodObject): string {
  const { labels, annotations } = pod.metadata;
  return JSON.stringify([imageOf(pod), conditionStatus(pod, "InPlaceUpdateReady"), labels, annotations]);
}
