/**
 * The pods of a job on the nodes, counted by what they count as, and kept up from event to event: one node's or one pod's
 * event costs work for that node. A roster that was just made looks at every node, and `roster_test.ts` holds the other
 * one against it.
 */
import type { Node, Pod } from "../../kube/index.ts";
import { NodeLedger } from "../rollout/node_ledger.ts";
import type { PendingPods } from "../rollout/pending_pods.ts";
import { PodsByNode } from "../rollout/pods_by_node.ts";
import { needsKruiseReady } from "../rollout/readiness.ts";
import { SortedNames } from "../rollout/sorted_names.ts";
import { isBeingCreated, type Standing, standingOf } from "./observe.ts";

interface RosterSource {
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

/** A pod of the job with what decisions ask of it. */
export interface Task {
  pod: Pod;
  standing: Standing;
  /** A write is in flight: no further action is planned for it. */
  busy: boolean;
  /** The node that it is on or meant for is no longer there: it holds up nothing. */
  lost: boolean;
}

/** Sums over all nodes. */
interface Tally {
  /** Nodes that the pod fits. */
  readonly desired: number;
  /** Those of them without a pod, or with one that is still at work. */
  readonly unfinished: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Stored active pods; those that are being created are not among them. */
  readonly active: number;
  /** Pods that take up parallelism: also those being created. */
  readonly occupying: number;
}

export interface Census extends Tally {
  /** Nodes that the pod fits and that have none, names ascending. */
  missing: Pick<SortedNames, "size" | "first">;
  /** Tasks on nodes where something is out of the ordinary, or to be done to a pod. By name of the node, then by age. */
  noted: readonly Task[];
  /** Alive on a node that they do not fit. */
  misplaced: readonly Task[];
  duplicates: readonly { pod: Pod; node: string }[];
  /** As dear as there are pods. */
  everyTask(): Iterable<Task>;
}

/** `noted`: to be looked at in each pass. `missing`: to get a pod. */
type Group = "noted" | "missing" | "quiet";

const nothing: Tally = { desired: 0, unfinished: 0, succeeded: 0, failed: 0, active: 0, occupying: 0 };

export class Roster {
  readonly #source: RosterSource;
  readonly #pods = new PodsByNode(byAge);
  readonly #ledger = new NodeLedger<Group, keyof Tally>(nothing);
  readonly #noted = new Set<string>();
  readonly #missing = new SortedNames();

  constructor(source: RosterSource) {
    this.#source = source;
    for (const { name } of source.nodes()) this.#pods.touch(name);
    for (const pod of source.pods()) this.#pods.put(pod);
  }

  /** Takes a pod in, in its place another one or none; undefined: there was or is none. */
  podChanged(before: Pod | undefined, after: Pod | undefined): void {
    if (before?.controller?.uid === this.#source.uid) this.#pods.take(before);
    if (after?.controller?.uid === this.#source.uid) this.#pods.put(after);
  }

  nodeChanged(name: string): void {
    this.#pods.touch(name);
  }

  hasPodOn(name: string): boolean {
    return this.#pods.on(name).length > 0;
  }

  census(): Census {
    this.#pods.follow(this.#source.inFlight());
    // Ascending, because names are put in order fastest so.
    for (const name of [...this.#pods.touched].sort()) this.#judge(this.#placeOf(name));
    this.#pods.judged();
    const places = [...this.#noted].sort().map((name) => this.#placeOf(name));
    return {
      ...this.#ledger.totals,
      missing: this.#missing,
      noted: places.flatMap(({ tasks }) => tasks),
      misplaced: places.flatMap(misplacedOf),
      duplicates: places.flatMap((place) =>
        settle(place).duplicates.map((pod) => ({ pod, node: place.name })),
      ),
      everyTask: () => this.#everyTask(),
    };
  }

  #judge(place: Place): void {
    const { name } = place;
    const group = groupOf(place);
    const before = this.#ledger.groupOf(name);
    if (before !== group) {
      if (before === "noted") this.#noted.delete(name);
      if (before === "missing") this.#missing.delete(name);
      if (group === "noted") this.#noted.add(name);
      if (group === "missing") this.#missing.add(name);
    }
    if (place.exists || place.tasks.length > 0) this.#ledger.enter(name, group, tallyOf(place));
    else this.#ledger.leave(name);
  }

  #placeOf(name: string): Place {
    const node = name === "" ? undefined : this.#source.node(name);
    const exists = node !== undefined;
    const lost = name !== "" && !exists;
    return { name, exists, fits: exists && this.#source.fits(node), tasks: this.#tasksOn(name, lost) };
  }

  /** Pods as they will be. One that went while its deletion is under way stays in sight until that is answered. */
  #tasksOn(name: string, lost: boolean): Task[] {
    const stored = this.#pods.on(name);
    const flights = this.#pods.flightsOn(name);
    const { restartLimit } = this.#source;
    const task = (pod: Pod, busy: boolean): Task => ({
      pod,
      busy,
      lost,
      standing: standingOf(pod, restartLimit),
    });
    if (flights === undefined) return stored.map((pod) => task(pod, false));
    const tasks = stored.map((pod) => task(flights.get(pod.uid) ?? pod, flights.has(pod.uid)));
    const names = new Set(stored.map((pod) => pod.name));
    for (const pod of flights.values()) {
      if (names.has(pod.name)) continue;
      if (isBeingCreated(pod) || pod.deletionAt !== undefined) tasks.push(task(pod, true));
    }
    return tasks.sort((a, b) => byAge(a.pod, b.pod));
  }

  *#everyTask(): Generator<Task> {
    for (const name of [...this.#pods.names()].sort()) yield* this.#placeOf(name).tasks;
  }
}

interface Place {
  /** Empty for pods of which nothing says where they are to run. */
  name: string;
  exists: boolean;
  fits: boolean;
  /** The oldest first. */
  tasks: readonly Task[];
}

function groupOf(place: Place): Group {
  const { fits, tasks } = place;
  if (tasks.length === 0) return fits ? "missing" : "quiet";
  const isNoted =
    tasks.length > 1 ||
    misplacedOf(place).length > 0 ||
    tasks.some((task) => task.standing === "over" || awaitsReadiness(task));
  return isNoted ? "noted" : "quiet";
}

function tallyOf(place: Place): Tally {
  const { fits, tasks } = place;
  const stand = settle(place).counting?.standing;
  const count = (counts: (task: Task) => boolean): number => tasks.filter(counts).length;
  return {
    desired: Number(fits),
    unfinished: Number(fits && (stand === undefined || stand === "active" || stand === "over")),
    succeeded: count(({ standing }) => standing === "succeeded"),
    failed: count(({ standing }) => standing === "failed" || standing === "over"),
    active: count((task) => occupies(task) && !isBeingCreated(task.pod)),
    occupying: count(occupies),
  };
}

/** An active pod, unless its node is gone. */
export function occupies({ standing, lost }: Task): boolean {
  return standing === "active" && !lost;
}

/** Pods of this API carry a gate that is given True once; finished pods, too, so that they show it (pod-webhook 4.1). */
export function awaitsReadiness({ pod, lost }: Task): boolean {
  return !lost && pod.deletionAt === undefined && !isBeingCreated(pod) && needsKruiseReady(pod);
}

function misplacedOf({ exists, fits, tasks }: Place): readonly Task[] {
  if (!exists || fits) return [];
  return tasks.filter(({ standing }) => standing === "active" || standing === "over");
}

/** Of several pods on a node one counts: one that stays before one that goes, else the newer one. */
function settle({ name, tasks }: Place): { counting: Task | undefined; duplicates: Pod[] } {
  const duplicates: Pod[] = [];
  if (name === "") return { counting: undefined, duplicates };
  let counting: Task | undefined;
  for (const task of tasks) {
    const goes = task.standing === "going";
    const otherGoes = counting?.standing === "going";
    if (counting !== undefined && !goes && !otherGoes) duplicates.push(task.pod);
    if (counting === undefined || !goes || otherGoes) counting = task;
  }
  return { counting, duplicates };
}

function byAge(a: Pod, b: Pod): number {
  return a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1);
}
