/** All pods of a run as the watch shows them: who they belong to, and how many are in which state. */
import type { Cache, Change } from "../../kube/index.ts";
import type { PodObject } from "../../sandbox/index.ts";
import { imageOf, type PodState, podStateOf } from "./pod_state.ts";

/** On the pods of a workload: its name. */
export const WORKLOAD_LABEL = "refit.dev/bench-workload";

const REVISION_LABEL = "controller-revision-hash";

interface CountedPod {
  readonly state: PodState;
  readonly revision: string;
}

export class PodBoard {
  readonly #pods: Cache<PodObject>;
  readonly #seen = new Map<string, CountedPod>();
  readonly #counts: Record<PodState, number>;
  readonly #listeners = new Set<(change: Change<PodObject>) => void>();
  readonly #unsubscribe: () => void;
  #events = 0;
  #formerRevisions: ReadonlySet<string> = new Set();
  #readyAtFormer = 0;

  constructor(pods: Cache<PodObject>) {
    this.#pods = pods;
    this.#counts = { ready: 0, updating: 0, starting: 0, pending: 0, terminating: 0, finished: 0 };
    for (const pod of pods.values()) if (isOurs(pod)) this.#count(pod, false);
    this.#unsubscribe = pods.subscribe((change) => this.#see(change));
  }

  /** Watch events of the run's pods so far. */
  get events(): number {
    return this.#events;
  }

  /** Pods that are there, in whatever state. */
  get size(): number {
    return this.#seen.size;
  }

  counts(): Record<PodState, number> {
    return { ...this.#counts };
  }

  /** From now on the revisions that pods have are the former ones. */
  markRevisions(): void {
    this.#formerRevisions = new Set([...this.#seen.values()].map(({ revision }) => revision));
    this.#readyAtFormer = this.#counts.ready;
  }

  /** Ready pods at a revision that came since. */
  get readyAtNew(): number {
    return this.#counts.ready - this.#readyAtFormer;
  }

  *pods(): Iterable<PodObject> {
    for (const pod of this.#pods.values()) if (isOurs(pod)) yield pod;
  }

  subscribe(listener: (change: Change<PodObject>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  stop(): void {
    this.#unsubscribe();
  }

  #see(change: Change<PodObject>): void {
    if (!isOurs(change.object)) return;
    this.#events++;
    this.#count(change.object, change.type === "removed");
    for (const listener of this.#listeners) listener(change);
  }

  #count(pod: PodObject, gone: boolean): void {
    const uid = pod.metadata.uid ?? "";
    const before = this.#seen.get(uid);
    if (before !== undefined) this.#add(before, -1);
    if (gone) {
      this.#seen.delete(uid);
      return;
    }
    const seen = { state: podStateOf(pod), revision: revisionOf(pod) };
    this.#seen.set(uid, seen);
    this.#add(seen, 1);
  }

  #add({ state, revision }: CountedPod, by: 1 | -1): void {
    this.#counts[state] += by;
    if (state === "ready" && this.#formerRevisions.has(revision)) this.#readyAtFormer += by;
  }
}

/** Distinguished by workload; for managers without the label, by the image. */
function revisionOf(pod: PodObject): string {
  return `${workloadOf(pod)} ${pod.metadata.labels?.[REVISION_LABEL] ?? imageOf(pod)}`;
}

/** The watch brings the pods of one run; those of no workload are not counted. */
function isOurs(pod: PodObject): boolean {
  return workloadOf(pod) !== undefined;
}

export function workloadOf(pod: PodObject): string | undefined {
  return pod.metadata.labels?.[WORKLOAD_LABEL];
}
