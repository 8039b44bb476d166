/** What a node counts as for a job, by the pods that are there. Spec: jobs B4. */
import type { Node, Pod } from "../../../kube/index.ts";
import { NodePods } from "../../rollout/pods/node_pods.ts";
import { PodIndex, type SlotPods } from "../../rollout/pods/pod_index.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import type { PodClass, PodView } from "../../rollout/pods/pod_view.ts";
import { needsKruiseReady } from "../../rollout/pods/readiness.ts";
import { SortedSlots } from "../../rollout/pods/sorted_slots.ts";
import type { PendingPods } from "../../rollout/writes/pending_pods.ts";
import { isBeingCreated } from "../../rollout/writes/pending_pods.ts";
import { type TaskState, taskStateOf } from "./strategy.ts";

/** A pod of the job with what decisions ask of it. */
export interface Task {
  pod: Pod;
  state: TaskState;
  /** A write is in flight: no further action is planned for it. */
  busy: boolean;
  /** Active as the server shows it, and its deletion is not answered. */
  leaving: boolean;
  /** The node that it is on or meant for is no longer there: it holds up nothing. */
  lost: boolean;
}

/** A node, or the pods of which nothing says where they are to run. */
export interface TaskNode {
  /** Empty where nothing says it. */
  name: string;
  exists: boolean;
  fits: boolean;
  /** The oldest first. */
  tasks: readonly Task[];
}

export type BroadcastJobCount =
  /** Nodes that the pod fits. */
  | "desired"
  /** Those of them without a pod, or with one that is still at work. */
  | "unfinished"
  | "succeeded"
  | "failed"
  /** Stored active pods; those that are being created are not among them. */
  | "active"
  /** Pods that take up parallelism: also those being created. */
  | "occupying"
  /** Those that do so no more once their deletion is answered. */
  | "leaving";

interface Groups {
  /** Nodes that the pod fits and that have none. */
  readonly missing: SortedSlots;
  /** Nodes where something is out of the ordinary, or to be done to a pod. */
  readonly noted: SortedSlots;
}

export type TaskView = PodView<Groups, BroadcastJobCount, TaskNode>;

export interface TaskSource {
  /** Of the job. */
  uid: string;
  /** Restarts of one pod beyond which it counts as failed; undefined where pods are not restarted. */
  restartLimit: number | undefined;
  /** Whether the job's pod fits a node. */
  fits(node: Node): boolean;
  nodes(): Iterable<Node>;
  node(name: string): Node | undefined;
  /** Pods of the job at the beginning, as the server last showed them. */
  pods(): Iterable<Pod>;
  inFlight(): PendingPods;
}

/** Of one job and one generation of it. */
export class TaskIndex extends PodIndex<void, Groups, BroadcastJobCount, TaskNode> {
  readonly fits: TaskSource["fits"];
  readonly #stored: NodePods;

  constructor(source: TaskSource) {
    const stored = new NodePods(byAge, ({ controller }) => controller?.uid === source.uid);
    for (const pod of source.pods()) stored.replace(undefined, pod);
    super(
      stored,
      source.inFlight,
      {
        basisOf: () => "",
        *slots() {
          for (const { name } of source.nodes()) yield name;
        },
        classify: (pods) => classify(nodeWith(pods, source)),
      },
      { missing: new SortedSlots(), noted: new SortedSlots() },
    );
    this.fits = source.fits;
    this.#stored = stored;
  }

  hasPodOn(node: string): boolean {
    return this.#stored.at(node).length > 0;
  }
}

/** Pods as they will be. One that went while its deletion is under way stays in sight until that is answered. */
function nodeWith({ slot: name, stored, writes }: SlotPods, source: TaskSource): TaskNode {
  const node = name === "" ? undefined : source.node(name);
  const exists = node !== undefined;
  const task = (shown: Pod, write: Pod | undefined): Task => ({
    pod: write ?? shown,
    busy: write !== undefined,
    leaving: write !== undefined && isActive(shown) && !isActive(write),
    lost: name !== "" && !exists,
    state: taskStateOf(write ?? shown, source.restartLimit),
  });
  const tasks = stored.map((pod) => task(pod, writes.get(pod.uid)));
  for (const pod of writes.values()) {
    if (stored.some((one) => one.name === pod.name)) continue;
    if (isBeingCreated(pod) || pod.deletionAt !== undefined) tasks.push(task(pod, pod));
  }
  if (writes.size > 0) tasks.sort((a, b) => byAge(a.pod, b.pod));
  return { name, exists, fits: exists && source.fits(node), tasks };
}

function classify(node: TaskNode): PodClass<keyof Groups, BroadcastJobCount, TaskNode> | undefined {
  const { exists, fits, tasks } = node;
  if (!exists && tasks.length === 0) return undefined;
  const noted =
    tasks.length > 1 ||
    misplacedOn(node).length > 0 ||
    tasks.some((task) => task.state === "over" || awaitsReadiness(task));
  const missing = fits && tasks.length === 0;
  return {
    groups: noted ? ["noted"] : missing ? ["missing"] : [],
    counts: countsOf(node),
    entry: node,
    atRest: !noted,
    expires: false,
  };
}

function countsOf(node: TaskNode): BroadcastJobCount[] {
  const counts: BroadcastJobCount[] = [];
  const state = countingOn(node).counting?.state;
  if (node.fits) {
    counts.push("desired");
    if (state === undefined || state === "active" || state === "over") counts.push("unfinished");
  }
  for (const task of node.tasks) {
    if (task.state === "succeeded") counts.push("succeeded");
    if (task.state === "failed" || task.state === "over") counts.push("failed");
    if (task.leaving && !task.lost) counts.push("leaving");
    if (!occupies(task)) continue;
    counts.push("occupying");
    if (!isBeingCreated(task.pod)) counts.push("active");
  }
  return counts;
}

/** Of nodes where something is out of the ordinary, or to be done to a pod. */
export function noted<T>(pods: TaskView, pick: (node: TaskNode) => readonly T[]): T[] {
  return [...pods.entries(pods.groups.noted)].flatMap(pick);
}

/** An active pod, unless its node is gone. */
export function occupies({ state, lost }: Task): boolean {
  return state === "active" && !lost;
}

/** Pods of this API carry a gate that is given True once; finished pods, too, so that they show it (pod-webhook 4.1). */
export function awaitsReadiness({ pod, lost }: Task): boolean {
  return !lost && pod.deletionAt === undefined && !isBeingCreated(pod) && needsKruiseReady(pod);
}

/** Alive on a node that they do not fit. */
export function misplacedOn({ exists, fits, tasks }: TaskNode): readonly Task[] {
  if (!exists || fits) return [];
  return tasks.filter(({ state }) => state === "active" || state === "over");
}

/** Of several pods on a node one counts: one that stays before one that goes, else the newer one. */
export function countingOn({ name, tasks }: TaskNode): { counting: Task | undefined; duplicates: Pod[] } {
  const duplicates: Pod[] = [];
  if (name === "") return { counting: undefined, duplicates };
  let counting: Task | undefined;
  for (const task of tasks) {
    const goes = task.state === "deleting";
    const otherGoes = counting?.state === "deleting";
    if (counting !== undefined && !goes && !otherGoes) duplicates.push(task.pod);
    if (counting === undefined || !goes || otherGoes) counting = task;
  }
  return { counting, duplicates };
}

function byAge(a: Pod, b: Pod): number {
  return a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1);
}
