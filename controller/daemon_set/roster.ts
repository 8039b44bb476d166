/**
 * Who is where: the nodes with their verdicts and pods, kept up from event to event. A pass looks at the nodes about
 * which something changed or is still to be done; all others, those without a pod among them, are kept as counts and
 * ordered names, so that an event of one node costs work for that node. A roster that was just made, of a set of which no
 * pod is known to be settled, looks at every node: that is the full computation, and `roster_test.ts` holds the other one
 * against it.
 */
import type { Selector } from "../../kube/core/index.ts";
import type { Node, Pod } from "../../kube/index.ts";
import { NodeLedger } from "../rollout/node_ledger.ts";
import { CREATING, type PendingPods } from "../rollout/pending_pods.ts";
import { readySince } from "../rollout/pod_state.ts";
import { nodeOf, PodsByNode } from "../rollout/pods_by_node.ts";
import { SortedNames } from "../rollout/sorted_names.ts";
import type { Verdict } from "./eligibility.ts";
import {
  byAge,
  type Daemon,
  type DaemonSetOptions,
  daemonOf,
  isDaemonAvailable,
  type Place,
  REVISION_LABEL,
  type UpdateMark,
} from "./observe.ts";
import { type Counts, countsOf, noCounts } from "./status.ts";

export interface RosterSource {
  /** Of the set. */
  uid: string;
  namespace: string;
  /** Selects the set's pods. */
  selector: Selector;
  verdict(node: Node): Verdict;
  nodes(): Iterable<Node>;
  node(name: string): Node | undefined;
  /** Pods at the beginning, as the server last showed them: those of the set, and those that nobody controls. */
  pods(): Iterable<Pod>;
  inFlight(): PendingPods;
}

/** What a pass brings: while `mark` and the set's generation stay, a node that nothing happens to is judged the same. */
export interface SurveyContext {
  mark: UpdateMark;
  minReadySeconds: number;
  /** Nodes that are updated at all; undefined: every node. */
  nodeSelector: Selector | undefined;
  options: DaemonSetOptions;
  /** Pods known to need no refresh. */
  settled: WeakMap<object, boolean>;
  /** Pods that this pass lets go, and those that it takes in. */
  released: ReadonlySet<Pod>;
  adopted: ReadonlySet<Pod>;
  now: number;
}

/**
 * Nodes that should have a pod and need no look: they have none, or exactly one with nothing to do but to update it or to
 * wait for a write that is in flight.
 */
export interface Quiet {
  /** Nodes without a pod. */
  missing: Pick<SortedNames, "size" | "above" | "first">;
  /** Nodes whose pod is up to date. */
  begun: Pick<SortedNames, "size" | "above">;
  /** Those of them whose pod is not ready yet. */
  starting: number;
  /** Nodes whose old pod is available and may be updated. */
  due: Pick<SortedNames, "size" | "above" | "descending">;
  /** Nodes whose old pod is available and that the node selector leaves out. */
  held: number;
  placeOf(name: string): Place | undefined;
}

export interface Survey {
  counts: Counts;
  /** Nodes to look at, names ascending: they have a pod, or just had one. */
  places: readonly Place[];
  quiet: Quiet;
  /** Pods that wait for a node which does not exist, names ascending. */
  lost: readonly Daemon[];
  /** Revision labels of pods, writes in flight included. */
  live: ReadonlySet<string>;
  /** Quiet ones included, names ascending. As dear as there are nodes. */
  everyPlace(): Iterable<Place>;
}

type Group = "open" | "missing" | "begun" | "starting" | "due" | "held";

/** How writes that create a pod are known while they are in flight. */

export class Roster {
  readonly #source: RosterSource;
  /** Of the set. */
  readonly #pods = new PodsByNode(byAge, (pod, change) => this.#count(labelOf(pod), change));
  /** How many pods carry a revision label, writes in flight included. */
  readonly #labels = new Map<string, number>();
  readonly #misfits = new Map<string, Pod>();
  readonly #orphans = new Map<string, Pod>();

  readonly #ledger = new NodeLedger<Group, keyof Counts>(noCounts);
  readonly #open = new Set<string>();
  readonly #missing = new SortedNames();
  readonly #begun = new SortedNames();
  readonly #due = new SortedNames();
  #starting = 0;
  #held = 0;
  #mark = "";

  constructor(source: RosterSource) {
    this.#source = source;
    for (const pod of source.pods()) this.podChanged(undefined, pod);
  }

  get inFlight(): PendingPods {
    return this.#source.inFlight();
  }

  /** Pods of the set that its selector does not match, by name. */
  get misfits(): readonly Pod[] {
    return byName(this.#misfits.values());
  }

  /** Pods of the namespace that nobody controls and the selector matches, by name. */
  get orphans(): readonly Pod[] {
    return byName(this.#orphans.values());
  }

  /** Takes a pod in, in its place another one or none; undefined: there was or is none. True when it is of the set. */
  podChanged(before: Pod | undefined, after: Pod | undefined): boolean {
    const was = before !== undefined && this.#take(before);
    const is = after !== undefined && this.#put(after);
    return was || is;
  }

  nodeChanged(name: string): void {
    this.#pods.touch(name);
  }

  #put(pod: Pod): boolean {
    const { uid, namespace, selector } = this.#source;
    if (pod.controller === undefined && pod.namespace === namespace && selector.matches(pod.labels)) {
      this.#orphans.set(pod.uid, pod);
      return true;
    }
    if (pod.controller?.uid !== uid) return false;
    this.#pods.put(pod);
    this.#count(labelOf(pod), 1);
    if (!selector.matches(pod.labels)) this.#misfits.set(pod.uid, pod);
    return true;
  }

  #take(pod: Pod): boolean {
    if (this.#orphans.delete(pod.uid)) return true;
    if (pod.controller?.uid !== this.#source.uid) return false;
    this.#pods.take(pod);
    this.#count(labelOf(pod), -1);
    this.#misfits.delete(pod.uid);
    return true;
  }

  #count(label: string, change: 1 | -1): void {
    const count = (this.#labels.get(label) ?? 0) + change;
    if (count > 0) this.#labels.set(label, count);
    else this.#labels.delete(label);
  }

  survey(context: SurveyContext): Survey {
    this.#pods.follow(this.#source.inFlight());
    const look = new Look(context, this.#source, this.#pods, this.#orphans);
    const places: Place[] = [];
    const lost: Daemon[] = [];
    for (const name of this.#namesToJudge(context)) {
      const place = this.#judge(name, look, lost);
      if (place !== undefined) places.push(place);
    }
    this.#pods.judged();
    return {
      counts: this.#ledger.totals,
      places,
      quiet: {
        missing: this.#missing,
        begun: this.#begun,
        starting: this.#starting,
        due: this.#due,
        held: this.#held,
        placeOf: (name) => look.placeOf(name),
      },
      lost: lost.sort((a, b) => (a.pod.name < b.pod.name ? -1 : 1)),
      live: new Set(this.#labels.keys()),
      everyPlace: () => this.#everyPlace(look),
    };
  }

  /** Ascending, because places are, and because names are put in order fastest so. */
  #namesToJudge({ mark, released, adopted }: SurveyContext): string[] {
    if (this.#remarked(mark)) for (const name of this.#everyName()) this.#pods.touch(name);
    const names = new Set([...this.#pods.touched, ...this.#open]);
    for (const pod of [...released, ...adopted]) names.add(nodeOf(pod));
    return [...names].sort();
  }

  /** Whether this is the first survey for the update revision: nothing counts as it did. */
  #remarked({ hash, generation = "" }: UpdateMark): boolean {
    const mark = `${hash} ${generation}`;
    if (mark === this.#mark) return false;
    this.#mark = mark;
    this.#ledger.clear();
    this.#open.clear();
    this.#missing.clear();
    this.#begun.clear();
    this.#due.clear();
    this.#starting = 0;
    this.#held = 0;
    return true;
  }

  #everyName(): Set<string> {
    const names = this.#pods.names();
    for (const { name } of this.#source.nodes()) names.add(name);
    return names;
  }

  /** The node's place when it is to be looked at. */
  #judge(name: string, look: Look, lost: Daemon[]): Place | undefined {
    const place = look.placeOf(name);
    const counts = look.countsOf(name);
    if (place !== undefined) {
      const group = look.groupOf(place);
      this.#enter(name, group, counts);
      return group === "open" ? place : undefined;
    }
    const waiting = look.lostOn(name);
    lost.push(...waiting);
    const isOver = waiting.length === 0 && counts.misscheduled === 0;
    this.#leave(name);
    if (!isOver) this.#enter(name, "open", counts);
    return undefined;
  }

  #leave(name: string): void {
    const group = this.#ledger.groupOf(name);
    this.#ledger.leave(name);
    if (group === undefined) return;
    if (group === "open") this.#open.delete(name);
    else if (group === "missing") this.#missing.delete(name);
    else if (group === "due") this.#due.delete(name);
    else if (group === "held") this.#held--;
    else this.#begun.delete(name);
    if (group === "starting") this.#starting--;
  }

  #enter(name: string, group: Group, counts: Counts): void {
    const before = this.#ledger.groupOf(name);
    if (before !== group) this.#leave(name);
    this.#ledger.enter(name, group, counts);
    if (before === group) return;
    if (group === "open") this.#open.add(name);
    else if (group === "missing") this.#missing.add(name);
    else if (group === "due") this.#due.add(name);
    else if (group === "held") this.#held++;
    else this.#begun.add(name);
    if (group === "starting") this.#starting++;
  }

  *#everyPlace(look: Look): Generator<Place> {
    for (const name of [...this.#ledger.names()].sort()) {
      const place = look.placeOf(name);
      if (place !== undefined) yield place;
    }
  }
}

/** How one survey sees a node. */
class Look {
  readonly #context: SurveyContext;
  readonly #source: RosterSource;
  readonly #pods: Pick<PodsByNode, "on" | "flightsOn">;
  readonly #orphans: ReadonlyMap<string, Pod>;
  readonly #adopted = new Map<string, Pod[]>();

  constructor(
    context: SurveyContext,
    source: RosterSource,
    pods: Pick<PodsByNode, "on" | "flightsOn">,
    orphans: ReadonlyMap<string, Pod>,
  ) {
    this.#context = context;
    this.#source = source;
    this.#pods = pods;
    this.#orphans = orphans;
    for (const pod of context.adopted) {
      const there = this.#adopted.get(nodeOf(pod));
      if (there === undefined) this.#adopted.set(nodeOf(pod), [pod]);
      else there.push(pod);
    }
  }

  placeOf(name: string): Place | undefined {
    const node = this.#source.node(name);
    if (node === undefined) return undefined;
    const verdict = this.#source.verdict(node);
    const daemons = this.#daemonsOn(name);
    if (daemons.length === 0 && verdict !== "run") return undefined;
    return { name, labels: node.labels, verdict, daemons };
  }

  /** Rule 16: nobody would ever schedule them. A pod that was scheduled is the pod clean-up's. */
  lostOn(name: string): Daemon[] {
    if (name === "" || this.#source.node(name) !== undefined) return [];
    return this.#daemonsOn(name).filter(({ pod }) => pod.nodeName === "");
  }

  /** What the node adds to the status, by its pods as the server last showed them. */
  countsOf(name: string): Counts {
    const node = this.#source.node(name);
    if (node === undefined) return noCounts;
    return countsOf(this.#source.verdict(node), this.#pods.on(name), this.#context);
  }

  groupOf({ name, verdict, daemons, labels }: Place): Group {
    const [daemon] = daemons;
    // A pod that is just being let go still counts, and by time.
    if (daemon === undefined && this.#pods.on(name).length === 0) return "missing";
    if (verdict !== "run" || daemon === undefined || daemons.length > 1) return "open";
    const { pod, busy, terminating, failed, preparing, updated, available } = daemon;
    if (terminating || failed || preparing) return "open";
    if (busy) return updated && this.#isAwaited(name, pod) ? "starting" : "open";
    if (this.#context.settled.get(pod) !== true) return "open";
    if (updated && available) return "begun";
    // Time alone makes a ready pod available; one that is not ready will be heard of.
    if (updated) return readySince(pod) === undefined ? "starting" : "open";
    if (!available) return "open";
    return (this.#context.nodeSelector?.matches(labels) ?? true) ? "due" : "held";
  }

  /** Whether the write in flight leads to a pod that is not ready, and nothing counts anew before it is answered. */
  #isAwaited(name: string, after: Pod): boolean {
    if (readySince(after) !== undefined) return false;
    const stored = this.#pods.on(name);
    // Nobody tells of a pod that is just being adopted and goes.
    if (!after.uid.startsWith(CREATING) && !stored.some(({ uid }) => uid === after.uid)) return false;
    const { minReadySeconds, now } = this.#context;
    return stored.every((pod) => {
      return readySince(pod) === undefined || isDaemonAvailable(pod, minReadySeconds, now);
    });
  }

  /** Pods of the set as they will be, the oldest first. */
  #daemonsOn(name: string): Daemon[] {
    const stored = this.#pods.on(name);
    const flights = this.#pods.flightsOn(name);
    const adopted = this.#adopted.get(name);
    if (flights === undefined && adopted === undefined && this.#context.released.size === 0) {
      return stored.map((pod) => this.#daemon(pod, false, pod));
    }
    const daemons: Daemon[] = [];
    const names = new Set<string>();
    for (const pod of stored) {
      names.add(pod.name);
      const after = flights?.get(pod.uid) ?? pod;
      if (this.#isIn(after)) daemons.push(this.#daemon(after, flights?.has(pod.uid) ?? false, pod));
    }
    for (const [id, after] of flights ?? []) {
      if (names.has(after.name) || !this.#isIn(after)) continue;
      // A new pod, one that went while its deletion is under way, or one that is just being adopted.
      const before = this.#orphans.get(id);
      const isNew = id.startsWith(CREATING);
      if (!isNew && after.deletionAt === undefined && before === undefined) continue;
      daemons.push(this.#daemon(after, true, before ?? after));
    }
    for (const pod of adopted ?? []) daemons.push(this.#daemon(pod, true, pod));
    return daemons.sort((a, b) => byAge(a.pod, b.pod));
  }

  #isIn(pod: Pod): boolean {
    return pod.controller?.uid === this.#source.uid && !this.#context.released.has(pod);
  }

  #daemon(pod: Pod, busy: boolean, stored: Pod): Daemon {
    return daemonOf(pod, stored, busy, this.#context);
  }
}

function labelOf({ labels }: Pod): string {
  return labels[REVISION_LABEL] ?? "";
}

function byName(pods: Iterable<Pod>): Pod[] {
  return [...pods].sort((a, b) => (a.name < b.name ? -1 : 1));
}
