/** Which pods come first. Spec: cloneset 4.7 rule 42, inplace-update 4.13. */
import { compileSelector, type LabelSelector } from "../../kube/core/index.ts";
import type { Labels, Pod } from "../../kube/index.ts";
import { factsOf, readySince, restarts } from "./pod_state.ts";

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

const activityRules: readonly Rule<Activity>[] = [
  (a, b) => a.scheduled - b.scheduled,
  (a, b) => a.phase - b.phase,
  (a, b) => a.ready - b.ready,
  (a, b) => b.readySince - a.readySince,
  (a, b) => b.restarts - a.restarts,
  (a, b) => b.pod.createdAt - a.pod.createdAt,
  (a, b) => byName(a.pod, b.pod),
];

/** What the order asks of a pod, looked up once for each and not once for each comparison. */
interface Activity {
  pod: Pod;
  scheduled: number;
  phase: number;
  ready: number;
  readySince: number;
  restarts: number;
}

function activityOf(pod: Pod): Activity {
  const facts = factsOf(pod);
  return {
    pod,
    scheduled: Number(pod.nodeName !== ""),
    phase: PHASES[pod.phase] ?? 0,
    ready: Number(facts.ready),
    readySince: facts.readySince ?? 0,
    restarts: facts.restarts,
  };
}

const byActivity = firstDifference(activityRules);

/** What a pod does least for its users goes first. */
export function sortedByActivity<T extends { pod: Pod }>(items: readonly T[]): T[] {
  return decorated(items, ({ pod }) => activityOf(pod), byActivity);
}

/**
 * Those that `goesFirst` names and then the others, each by activity; worked out as far as it is read, since a rollout
 * reads no further than there is room. Names end every tie, so that the order is the one that sorting gives.
 */
export function* byActivityOnDemand<T extends { pod: Pod }>(
  items: readonly T[],
  goesFirst: (item: T) => boolean,
): Generator<T> {
  const heap = items.map((item) => ({ item, later: !goesFirst(item), activity: activityOf(item.pod) }));
  const precedes = (a: (typeof heap)[number], b: (typeof heap)[number]): boolean =>
    a.later === b.later ? byActivity(a.activity, b.activity) < 0 : b.later;
  for (let at = (heap.length >> 1) - 1; at >= 0; at--) sink(heap, at, precedes);
  for (;;) {
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined) return;
    if (heap.length > 0) {
      heap[0] = last;
      sink(heap, 0, precedes);
    }
    yield first.item;
  }
}

/** Lets the element sink until none below it precedes it. */
function sink<T>(heap: T[], from: number, precedes: (a: T, b: T) => boolean): void {
  const moving = heap[from];
  if (moving === undefined) return;
  let at = from;
  for (;;) {
    let below = 2 * at + 1;
    let child = heap[below];
    if (child === undefined) break;
    const right = heap[below + 1];
    if (right !== undefined && precedes(right, child)) {
      child = right;
      below++;
    }
    if (!precedes(child, moving)) break;
    heap[at] = child;
    at = below;
  }
  heap[at] = moving;
}

export interface PriorityStrategy {
  orderPriority?: readonly { orderedKey: string }[];
  weightPriority?: readonly { weight: number; matchSelector: LabelSelector }[];
}

export type ScatterStrategy = readonly { key: string; value: string }[];

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
    const value = labels[orderedKey];
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
  all: readonly T[],
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
  all: readonly T[],
  term: { key: string; value: string },
): T[] {
  const matches = (pod: T): boolean => pod.labels[term.key] === term.value;
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
