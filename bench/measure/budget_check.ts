/**
 * Whether the manager kept its budget, checked from the watch alone and at every event. It shares no counting with
 * the manager: available is what the API shows as Ready, not terminating, and running what its spec says.
 */
import type { PodObject } from "../../sandbox/index.ts";
import { imageOf, isBeingUpdated, isReady, isTerminating } from "./pod_state.ts";

export interface BudgetRules {
  /** Pods of the workload that should be available. */
  readonly replicas: number;
  readonly maxUnavailable?: number;
  /** Most pods at once, those on their way out left out. */
  readonly maxPods?: number;
  /** Most pods whose spec has this image: `replicas` without the partition. */
  readonly maxUpdated?: { readonly image: string; readonly most: number };
}

export interface BudgetResult {
  readonly maxUnavailable?: number;
  /** Each has this budget for itself. */
  readonly workloads: number;
  readonly mostUnavailable: number;
  /** Replicas that were not in service, summed over time: seconds. */
  readonly podSecondsOut: number;
  readonly violations: number;
  /** The first few, in words. */
  readonly examples: readonly string[];
}

export interface BudgetChange {
  readonly type: "added" | "changed" | "removed";
  readonly object: PodObject;
}

interface Lost {
  /** `manager`: it deleted the pod, closed its gate or changed its spec. `other`: a node or a container failed. */
  by: "manager" | "other";
  atMs: number;
}

interface Workload {
  readonly available: Set<string>;
  readonly living: Set<string>;
  readonly updated: Set<string>;
  readonly lost: Map<string, Lost>;
}

/** A loss that the manager did not cause is not held against it before it could have heard of it. */
const noticeMs = 1_000;
const keptExamples = 5;

/** The budget of each workload by itself; `workloadOf` names a pod's workload, undefined: none of ours. */
export class BudgetCheck {
  readonly #rules: BudgetRules;
  readonly #workloadOf: (pod: PodObject) => string | undefined;
  readonly #now: () => number;
  readonly #workloads = new Map<string, Workload>();
  readonly #examples: string[] = [];
  #mostUnavailable = 0;
  #unavailable = 0;
  #podMsOut = 0;
  #countedAt: number;
  #violations = 0;

  constructor(
    rules: BudgetRules,
    workloadOf: (pod: PodObject) => string | undefined,
    now: () => number,
    pods: Iterable<PodObject>,
  ) {
    this.#rules = rules;
    this.#workloadOf = workloadOf;
    this.#now = now;
    this.#countedAt = now();
    for (const object of pods) this.#take({ type: "added", object });
  }

  /** Replicas of all workloads that are not in service. */
  get unavailable(): number {
    return this.#unavailable;
  }

  see(change: BudgetChange): void {
    this.#countTime();
    const taken = this.#take(change);
    if (taken === undefined) return;
    const { workload, key, lostByManager } = taken;
    this.#checkUnavailable(key, workload, lostByManager);
    const { maxPods, maxUpdated } = this.#rules;
    if (maxPods !== undefined && taken.isNew && workload.living.size > maxPods)
      this.#violated(`${key} had ${workload.living.size} pods, ${maxPods} are allowed`);
    if (maxUpdated !== undefined && taken.isNewlyUpdated && workload.updated.size > maxUpdated.most)
      this.#violated(`${key} had ${workload.updated.size} pods updated, ${maxUpdated.most} are allowed`);
  }

  result(): BudgetResult {
    this.#countTime();
    const { maxUnavailable } = this.#rules;
    return {
      ...(maxUnavailable === undefined ? {} : { maxUnavailable }),
      workloads: this.#workloads.size,
      mostUnavailable: this.#mostUnavailable,
      podSecondsOut: this.#podMsOut / 1000,
      violations: this.#violations,
      examples: [...this.#examples],
    };
  }

  #take(
    change: BudgetChange,
  ):
    | { workload: Workload; key: string; lostByManager: boolean; isNew: boolean; isNewlyUpdated: boolean }
    | undefined {
    const pod = change.object;
    const key = this.#workloadOf(pod);
    if (key === undefined) return undefined;
    const workload = this.#workload(key);
    const outBefore = this.#outOf(workload);
    const uid = pod.metadata.uid ?? "";
    const gone = change.type === "removed";
    const lives = !gone && !isTerminating(pod);
    const isNew = lives && !workload.living.has(uid);
    if (lives) workload.living.add(uid);
    else workload.living.delete(uid);
    const image = this.#rules.maxUpdated?.image;
    const isUpdated = lives && image !== undefined && imageOf(pod) === image;
    const isNewlyUpdated = isUpdated && !workload.updated.has(uid);
    if (isUpdated) workload.updated.add(uid);
    else workload.updated.delete(uid);
    const was = workload.available.has(uid);
    let lostByManager = false;
    if (!gone && isReady(pod) && !isBeingUpdated(pod)) {
      workload.available.add(uid);
      workload.lost.delete(uid);
    } else if (was) {
      workload.available.delete(uid);
      lostByManager = !gone && (isTerminating(pod) || isBeingUpdated(pod));
      workload.lost.set(uid, { by: lostByManager ? "manager" : "other", atMs: this.#now() });
    }
    this.#unavailable += this.#outOf(workload) - outBefore;
    return { workload, key, lostByManager, isNew, isNewlyUpdated };
  }

  #outOf({ available }: Workload): number {
    return Math.max(0, this.#rules.replicas - available.size);
  }

  #countTime(): void {
    const now = this.#now();
    this.#podMsOut += this.#unavailable * (now - this.#countedAt);
    this.#countedAt = now;
  }

  #checkUnavailable(key: string, workload: Workload, lostByManager: boolean): void {
    const { replicas, maxUnavailable } = this.#rules;
    const unavailable = replicas - workload.available.size;
    this.#mostUnavailable = Math.max(this.#mostUnavailable, unavailable);
    if (maxUnavailable === undefined || !lostByManager || unavailable <= maxUnavailable) return;
    const since = this.#now() - noticeMs;
    let unheard = 0;
    for (const lost of workload.lost.values()) if (lost.by === "other" && lost.atMs > since) unheard++;
    if (unavailable - unheard > maxUnavailable)
      this.#violated(`${key} had ${unavailable} pods unavailable, ${maxUnavailable} are allowed`);
  }

  #violated(words: string): void {
    this.#violations++;
    if (this.#examples.length < keptExamples) this.#examples.push(words);
  }

  #workload(key: string): Workload {
    let workload = this.#workloads.get(key);
    if (workload === undefined) {
      workload = { available: new Set(), living: new Set(), updated: new Set(), lost: new Map() };
      this.#workloads.set(key, workload);
      this.#unavailable += this.#outOf(workload);
    }
    return workload;
  }
}
