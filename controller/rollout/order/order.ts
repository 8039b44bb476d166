/** Which pods come first. Spec: cloneset 4.7 rule 42, inplace-update 4.13. */
import { compileSelector, type LabelSelector, own } from "../../../kube/core/index.ts";
import type { Labels, Pod } from "../../../kube/index.ts";
import { isReady, readySince, restarts } from "../pods/pod_state.ts";

export type Rule<T> = (a: T, b: T) => number;

/** The first rule that differs decides; equal pods keep no order of their own, so names end every tie. */
export function firstDifference<T>(rules: readonly Rule<T>[]): Rule<T> {
  return (a, b) => {
    for (const rule of rules) {
      const order = rule(a, b);
      if (order !== 0) return order;
    }
    return 0;
  };
}

const PHASES: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

export const unscheduledFirst: Rule<Pod> = (a, b) => Number(a.nodeName !== "") - Number(b.nodeName !== "");
export const byPhase: Rule<Pod> = (a, b) => (PHASES[a.phase] ?? 0) - (PHASES[b.phase] ?? 0);
export const latestReadyFirst: Rule<Pod> = (a, b) => (readySince(b) ?? 0) - (readySince(a) ?? 0);
export const moreRestartsFirst: Rule<Pod> = (a, b) => restarts(b) - restarts(a);
export const newestFirst: Rule<Pod> = (a, b) => b.createdAt - a.createdAt;
export const byName: Rule<Pod> = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
const byNamespace: Rule<Pod> = (a, b) => (a.namespace < b.namespace ? -1 : a.namespace > b.namespace ? 1 : 0);

/** An item in its place of an order, with what the order asks of its pod: a projection never changes. */
export interface Placed<T> {
  readonly item: T;
  /** In one number: not one of those that go first, then scheduled, then by phase, then ready. */
  readonly rank: number;
  readonly readySince: number;
  readonly restarts: number;
}

/** Looked up once for each pod and not once for each comparison. */
function placed<T extends { pod: Pod }>(item: T, goesFirst: boolean): Placed<T> {
  const { pod } = item;
  const place = Number(!goesFirst) * 2 + Number(pod.nodeName !== "");
  const rank = (place * 3 + (PHASES[pod.phase] ?? 0)) * 2 + Number(isReady(pod));
  return { item, rank, readySince: readySince(pod) ?? 0, restarts: restarts(pod) };
}

/** One expression: thousands of pods are put in order at the beginning of a rollout. */
const byPlace: Rule<Placed<{ pod: Pod }>> = (a, b) =>
  a.rank - b.rank ||
  b.readySince - a.readySince ||
  b.restarts - a.restarts ||
  b.item.pod.createdAt - a.item.pod.createdAt ||
  byName(a.item.pod, b.item.pod) ||
  byNamespace(a.item.pod, b.item.pod);

/** What a pod does least for its users goes first. */
export function sortedByActivity<T extends { pod: Pod }>(items: readonly T[]): T[] {
  return decorated(items, (item) => placed(item, false), byPlace);
}

/**
 * Those that `goesFirst` names and then the others, each by activity, while items come and go one by one. The order is
 * worked out as far as it is read, since a rollout reads no further than there is room.
 */
export class ByActivity<T extends { pod: Pod }> {
  readonly #goesFirst: (item: T) => boolean;
  /** What was read so far, in order; everything else comes after it. */
  #read: Placed<T>[] = [];
  /** A heap: none precedes the one at half its index. */
  #rest: Placed<T>[] = [];
  /** Of `rest`: those that are no longer there. */
  readonly #gone = new Set<Placed<T>>();

  constructor(goesFirst: (item: T) => boolean, items: Iterable<T> = []) {
    this.#goesFirst = goesFirst;
    for (const item of items) this.add(item);
  }

  get size(): number {
    return this.#read.length + this.#rest.length - this.#gone.size;
  }

  /** What `delete` wants to see again. */
  add(item: T): Placed<T> {
    const one = placed(item, this.#goesFirst(item));
    const last = this.#read.at(-1);
    if (last !== undefined && byPlace(one, last) < 0) this.#read.splice(this.#after(one), 0, one);
    else rise(this.#rest, one);
    return one;
  }

  delete(placed: Placed<T>): void {
    const index = this.#after(placed) - 1;
    if (this.#read[index] === placed) {
      this.#read.splice(index, 1);
      return;
    }
    this.#gone.add(placed);
    if (this.#gone.size * 2 <= this.#rest.length) return;
    const left = this.#rest.filter((one) => !this.#gone.has(one));
    this.#rest = [];
    this.#gone.clear();
    for (const one of left) rise(this.#rest, one);
  }

  clear(): void {
    this.#read = [];
    this.#rest = [];
    this.#gone.clear();
  }

  /** Names end every tie, so that the order is the one that sorting gives. Nothing may come or go meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    for (const { item } of this.#read) yield item;
    for (;;) {
      const next = takeFirst(this.#rest);
      if (next === undefined) return;
      if (this.#gone.delete(next)) continue;
      this.#read.push(next);
      yield next.item;
    }
  }

  /** Index behind the last of those read that does not come after this one. */
  #after(placed: Placed<T>): number {
    let low = 0;
    let high = this.#read.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const there = this.#read[middle];
      if (there !== undefined && byPlace(there, placed) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function rise<T extends { pod: Pod }>(heap: Placed<T>[], placed: Placed<T>): void {
  let at = heap.length;
  while (at > 0) {
    const above = (at - 1) >> 1;
    const there = heap[above];
    if (there === undefined || byPlace(there, placed) <= 0) break;
    heap[at] = there;
    at = above;
  }
  heap[at] = placed;
}

function takeFirst<T extends { pod: Pod }>(heap: Placed<T>[]): Placed<T> | undefined {
  const [first] = heap;
  const moving = heap.pop();
  if (moving === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    let child = heap[below];
    if (child === undefined) break;
    const right = heap[below + 1];
    if (right !== undefined && byPlace(right, child) < 0) {
      child = right;
      below++;
    }
    if (byPlace(child, moving) >= 0) break;
    heap[at] = child;
    at = below;
  }
  heap[at] = moving;
  return first;
}

export interface PriorityStrategy {
  orderPriority?: readonly { orderedKey: string }[];
  weightPriority?: readonly { weight: number; matchSelector: LabelSelector }[];
}

export type ScatterStrategy = readonly { key: string; value: string }[];

/** Pods by activity, then by priority, then scattered. `all`: the workload's pods, updated ones included. */
export function byStrategy<T extends { pod: Pod }>(
  candidates: Iterable<T>,
  all: readonly { labels: Labels }[],
  strategy: { priority: PriorityStrategy | undefined; scatter: ScatterStrategy | undefined },
): T[] {
  const wrapped = sortedByActivity([...candidates]).map((item) => ({ item, labels: item.pod.labels }));
  const ordered = scattered(prioritised(wrapped, strategy.priority), all, strategy.scatter);
  return ordered.map(({ item }) => item);
}

/** Stable: pods of equal priority keep the order they came in. Rule 46. */
export function prioritised<T extends { labels: Labels }>(
  pods: readonly T[],
  strategy: PriorityStrategy | undefined,
): T[] {
  const weights = strategy?.weightPriority ?? [];
  if (weights.length > 0) {
    const terms = weights.map((term) => ({
      weight: term.weight,
      selector: compileSelector(term.matchSelector),
    }));
    const weightOf = (pod: T): number =>
      terms.reduce((sum, term) => sum + (term.selector.matches(pod.labels) ? term.weight : 0), 0);
    return decorated(pods, weightOf, (a, b) => b - a);
  }
  const keys = strategy?.orderPriority ?? [];
  if (keys.length === 0) return [...pods];
  return decorated(
    pods,
    (pod) => orderPosition(pod.labels, keys),
    (a, b) => a.index - b.index || b.number - a.number,
  );
}

/** Pods with none of the keys come first, as the API has it (its documentation says otherwise). */
function orderPosition(
  labels: Labels,
  keys: readonly { orderedKey: string }[],
): { index: number; number: number } {
  for (const [index, { orderedKey }] of keys.entries()) {
    const value = own(labels, orderedKey);
    if (value === undefined) continue;
    const digits = /\d+$/.exec(value)?.[0];
    return { index, number: digits === undefined ? 0 : Number(digits) };
  }
  return { index: -1, number: 0 };
}

function decorated<T, K>(items: readonly T[], keyOf: (item: T) => K, compare: (a: K, b: K) => number): T[] {
  return items
    .map((item) => ({ item, key: keyOf(item) }))
    .sort((a, b) => compare(a.key, b.key))
    .map(({ item }) => item);
}

/**
 * Spreads matching candidates evenly over the order, so that one kind of pod never goes all at once.
 * `all` are the workload's pods, updated ones included. Rule 47.
 */
export function scattered<T extends { labels: Labels }>(
  candidates: readonly T[],
  all: readonly { labels: Labels }[],
  strategy: ScatterStrategy | undefined,
): T[] {
  const terms = (strategy ?? []).map((term) => ({
    term,
    count: candidates.filter((pod) => pod.labels[term.key] === term.value).length,
  }));
  terms.sort((a, b) => b.count - a.count);
  return terms.reduce<T[]>((order, { term }) => scatterOne(order, all, term), [...candidates]);
}

function scatterOne<T extends { labels: Labels }>(
  candidates: T[],
  all: readonly { labels: Labels }[],
  term: { key: string; value: string },
): T[] {
  const matches = (pod: { labels: Labels }): boolean => pod.labels[term.key] === term.value;
  const matching = candidates.filter(matches);
  const others = candidates.filter((pod) => !matches(pod));
  if (matching.length <= 1 || others.length <= 1) return candidates;
  const reserved = matching.splice(-1);
  const allMatching = all.filter(matches).length - 1;
  const allOthers = all.length - allMatching - 1;
  let sizes = groupSizes(matching.length, others.length);
  let surplus = 0;
  if (allMatching > 0 && allOthers / allMatching < others.length / matching.length) {
    const overall = groupSizes(allMatching, allOthers);
    const groups = Math.min(
      Math.floor(matching.length / overall.matching),
      overall.others > 0 ? Math.floor(others.length / overall.others) : 0,
    );
    sizes = { ...overall, groups };
    surplus = Math.max(0, others.length - groups * overall.others);
  }
  const order = others.splice(0, surplus);
  for (let group = 0; group < sizes.groups; group++) {
    order.push(...matching.splice(0, sizes.matching), ...others.splice(0, sizes.others));
  }
  return [...order, ...matching, ...others, ...reserved];
}

function groupSizes(matching: number, others: number): { groups: number; matching: number; others: number } {
  const groups = Math.min(matching, others);
  if (groups <= 0) return { groups: 0, matching: 1, others: 0 };
  return { groups, matching: Math.round(matching / groups), others: Math.round(others / groups) };
}
