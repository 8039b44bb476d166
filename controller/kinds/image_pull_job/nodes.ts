/**
 * How far the nodes of one job are, kept up to date node by node: an event of one node costs the same whether the
 * job has three nodes or thousands. Order: ascending names. Spec: images P4.3, P4.7.
 */
import { earliest } from "../../plan/earliest.ts";
import type { NodeState } from "../../rollout/images/pull_task.ts";
import { byText } from "../../rollout/pods/sorted_slots.ts";

/** What plans see of it. */
export interface NodeCounts {
  readonly desired: number;
  /** Nodes with an unfinished task, writes in flight included. */
  readonly active: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Nodes that it may be assigned to now. */
  readonly ready: number;
  /** Nodes that it was assigned to, but that lack a secret that exists by now. */
  readonly lacking: number;
  /** Sorted. */
  failedNodes(): string[];
  /** Sorted names of nodes that have neither succeeded nor failed. */
  unfinishedNodes(): string[];
}

type Counted = "waiting" | "active" | "succeeded" | "failed";

export class JobNodes implements NodeCounts {
  readonly #states = new Map<string, NodeState>();
  /** Nodes without a secret that exists by now, written to or not. */
  readonly #short = new Set<string>();
  readonly #writing = new Set<string>();
  /** Node -> until when it is not written to, monotonic milliseconds. */
  readonly #held = new Map<string, number>();
  readonly #counts: Record<Counted, number> = { waiting: 0, active: 0, succeeded: 0, failed: 0 };
  /** Nodes that it may be assigned to now, ascending. */
  readonly #ready: string[] = [];
  readonly #lacking = new Set<string>();

  get desired(): number {
    return this.#states.size;
  }
  get active(): number {
    return this.#counts.active;
  }
  get succeeded(): number {
    return this.#counts.succeeded;
  }
  get failed(): number {
    return this.#counts.failed;
  }
  get ready(): number {
    return this.#ready.length;
  }

  get lacking(): number {
    return this.#lacking.size;
  }

  lackingNodes(): string[] {
    return [...this.#lacking].sort(byText);
  }

  failedNodes(): string[] {
    return this.#named((state) => state === "failed");
  }

  unfinishedNodes(): string[] {
    return this.#named((state) => state !== "failed" && state !== "succeeded");
  }

  /** Every node that counts. */
  names(): string[] {
    return [...this.#states.keys()];
  }

  /** The first nodes that it may be assigned to, in ascending order of names. */
  first(limit: number): string[] {
    return this.#ready.slice(0, Math.max(0, limit));
  }

  /**
   * What is known of the node now; undefined: it does not count. `isShort`: it was assigned, but the node lacks a secret.
   * True when that changes anything.
   */
  set(node: string, state: NodeState | undefined, isShort: boolean): boolean {
    if (this.#states.get(node) === state && this.#short.has(node) === isShort) return false;
    this.#change(node, () => {
      if (state === undefined) this.#states.delete(node);
      else this.#states.set(node, state);
      if (isShort) this.#short.add(node);
      else this.#short.delete(node);
    });
    return true;
  }

  /** A write to the node is in flight: it counts as active. */
  beginWrite(node: string): void {
    this.#change(node, () => this.#writing.add(node));
  }

  endWrite(node: string): void {
    this.#change(node, () => this.#writing.delete(node));
  }

  /** The node cannot be written to before `until` (monotonic milliseconds): the others go first. */
  hold(node: string, until: number): void {
    this.#change(node, () => this.#held.set(node, until));
  }

  /** Ends the holds that are over at `now` (monotonic milliseconds); returns after how long the next one is. */
  releaseHeld(now: number): number | undefined {
    let next: number | undefined;
    for (const [node, until] of this.#held) {
      if (until <= now) this.#change(node, () => this.#held.delete(node));
      else next = earliest([next, until - now]);
    }
    return next;
  }

  #named(matches: (state: NodeState) => boolean): string[] {
    const names: string[] = [];
    for (const [node, state] of this.#states) if (matches(state)) names.push(node);
    return names.sort(byText);
  }

  #change(node: string, change: () => void): void {
    const counted = this.#countedAs(node);
    const wasReady = this.#isReady(node);
    change();
    const next = this.#countedAs(node);
    if (counted !== undefined) this.#counts[counted]--;
    if (next !== undefined) this.#counts[next]++;
    const isReady = this.#isReady(node);
    if (wasReady && !isReady) this.#ready.splice(place(this.#ready, node), 1);
    else if (isReady && !wasReady) this.#ready.splice(place(this.#ready, node), 0, node);
    if (this.#isFree(node) && this.#short.has(node)) this.#lacking.add(node);
    else this.#lacking.delete(node);
  }

  #countedAs(node: string): Counted | undefined {
    const state = this.#states.get(node);
    if (state === undefined) return undefined;
    if (state === "succeeded" || state === "failed") return state;
    return state === "unassigned" && !this.#writing.has(node) ? "waiting" : "active";
  }

  #isReady(node: string): boolean {
    return this.#isFree(node) && this.#states.get(node) === "unassigned";
  }

  #isFree(node: string): boolean {
    return !this.#writing.has(node) && !this.#held.has(node);
  }
}

/** Index of the first name that is not smaller. */
function place(sorted: readonly string[], name: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? "") < name) low = middle + 1;
    else high = middle;
  }
  return low;
}
