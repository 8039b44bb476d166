/** What a node counts as for a DaemonSet, by the pods that are there, and whether a pass is to look at it. */
import type { Labels, Selector } from "../../../kube/core/index.ts";
import type { Node, Pod } from "../../../kube/index.ts";
import { notAsked, type RefreshContext, refreshOf } from "../../rollout/in_place/refresh.ts";
import { OLD_STATE_ANNOTATION, STATE_ANNOTATION } from "../../rollout/in_place/state.ts";
import { lifecycleState } from "../../rollout/lifecycle/lifecycle.ts";
import { NodePods } from "../../rollout/pods/node_pods.ts";
import { PodIndex, type SlotPods } from "../../rollout/pods/pod_index.ts";
import { readySince } from "../../rollout/pods/pod_state.ts";
import type { PodClass, PodView } from "../../rollout/pods/pod_view.ts";
import { isUpdateComplete } from "../../rollout/pods/readiness.ts";
import { SortedSlots } from "../../rollout/pods/sorted_slots.ts";
import { type RevisionCount, revisionCount } from "../../rollout/revisions/revision_counts.ts";
import { CREATING, type PendingPods } from "../../rollout/writes/pending_pods.ts";
import type { NodeEligibility } from "./eligibility.ts";
import { type StatusCount, statusCounts } from "./status_counts.ts";
import {
  byAge,
  type Daemon,
  type DaemonSetOptions,
  isDaemonAvailable,
  isUpdated,
  REVISION_LABEL,
  type UpdateMark,
} from "./strategy.ts";

/**
 * Nodes by what there is to do. Besides those to look at they should have a pod and have none, or exactly one with nothing
 * to do but to update it or to wait for a write that is in flight.
 */
export const newGroups = () => ({
  /** To look at: they have a pod, or just had one. */
  open: new SortedSlots(),
  /** Without a pod. */
  missing: new SortedSlots(),
  /** Whose pod is up to date. */
  begun: new SortedSlots(),
  /** Whose old pod is available and may be updated. */
  due: new SortedSlots(),
  /** Nodes that do not exist, and that pods wait for. */
  lost: new SortedSlots(),
  /** With a pod that the selector does not match any more. */
  toRelease: new SortedSlots(),
  /** With a pod that nobody controls and the selector matches. */
  toAdopt: new SortedSlots(),
});
type Groups = ReturnType<typeof newGroups>;
type Group = keyof Groups;

export type DaemonSetCount =
  | StatusCount
  /** Nodes whose pod is up to date and not ready yet. */
  | "starting"
  /** Nodes whose old pod is available and that the node selector leaves out. */
  | "held"
  /** Writes in flight are included. */
  | RevisionCount;

export interface DaemonNode {
  readonly name: string;
  readonly labels: Labels;
  readonly eligibility: NodeEligibility;
  /** The oldest first; terminating and failed ones included. */
  readonly daemons: readonly Daemon[];
  /** Rule 16: on a node that does not exist, where nobody would ever schedule them. One that was scheduled is the pod clean-up's. */
  readonly lost: readonly Daemon[];
  /** Rule 15. */
  readonly toRelease: readonly Pod[];
  readonly toAdopt: readonly Pod[];
}

export type DaemonView = PodView<Groups, DaemonSetCount, DaemonNode>;

/** What a pass classifies by: while `mark` and the set's generation stay, a node that nothing happens to stays the same. */
export interface DaemonContext extends RefreshContext {
  mark: UpdateMark;
  minReadySeconds: number;
  options: DaemonSetOptions;
}

export interface DaemonSource {
  /** Of the set. */
  uid: string;
  namespace: string;
  /** Selects the set's pods. */
  selector: Selector;
  /** Nodes that are updated at all; undefined: every node. */
  nodeSelector: Selector | undefined;
  eligibility(node: Node): NodeEligibility;
  nodes(): Iterable<Node>;
  node(name: string): Node | undefined;
  /** Pods at the beginning, as the server last showed them: those of the set, and those that nobody controls. */
  pods(): Iterable<Pod>;
  inFlight(): PendingPods;
}

/** Of one set and one generation of it. */
export class DaemonIndex extends PodIndex<DaemonContext, Groups, DaemonSetCount, DaemonNode> {
  readonly source: DaemonSource;

  constructor(source: DaemonSource) {
    const { uid, namespace, selector } = source;
    const stored = new NodePods(byAge, (pod) =>
      pod.controller === undefined
        ? pod.namespace === namespace && selector.matches(pod.labels)
        : pod.controller.uid === uid,
    );
    for (const pod of source.pods()) stored.replace(undefined, pod);
    super(
      stored,
      source.inFlight,
      {
        *slots() {
          for (const { name } of source.nodes()) yield name;
        },
        basisOf: ({ mark: { hash, generation = "" } }) => `${hash} ${generation}`,
        classify: (pods, context) => classify(new DaemonSlot(pods, context, source)),
      },
      newGroups(),
    );
    this.source = source;
  }
}

function isControlled({ controller }: Pod): boolean {
  return controller !== undefined;
}

/** The pods of one node as they are and will be. */
class DaemonSlot {
  readonly name: string;
  readonly node: Node | undefined;
  readonly context: DaemonContext;
  /** Of the set, as the server last showed them. */
  readonly owned: readonly Pod[];
  readonly unselected: readonly Pod[];
  readonly orphans: readonly Pod[];
  readonly writes: ReadonlyMap<string, Pod>;
  readonly source: DaemonSource;

  constructor({ slot, stored, writes }: SlotPods, context: DaemonContext, source: DaemonSource) {
    this.name = slot;
    this.node = source.node(slot);
    this.context = context;
    this.owned = stored.every(isControlled) ? stored : stored.filter(isControlled);
    this.orphans = stored.length === this.owned.length ? [] : stored.filter((pod) => !isControlled(pod));
    this.unselected = this.owned.filter(({ labels }) => !source.selector.matches(labels));
    this.writes = writes;
    this.source = source;
  }

  get eligibility(): NodeEligibility {
    return this.node === undefined ? "none" : this.source.eligibility(this.node);
  }

  /** No write is in flight, and no deletion under way. */
  isFree(pod: Pod): boolean {
    return pod.deletionAt === undefined && !this.source.inFlight().has(pod.uid);
  }

  /** Pods of the set as they will be, the oldest first; those that are just being adopted are among them. */
  daemons(): Daemon[] {
    const { owned, orphans, unselected, writes } = this;
    const daemons: Daemon[] = [];
    for (const pod of owned) {
      const after = writes.get(pod.uid) ?? pod;
      const isReleased = unselected.includes(pod) && this.isFree(pod);
      if (this.#isOwned(after) && !isReleased) daemons.push(this.#daemon(after, pod, writes.has(pod.uid)));
    }
    for (const pod of orphans) {
      const after = writes.get(pod.uid);
      if (after !== undefined && this.#isOwned(after)) daemons.push(this.#daemon(after, pod, true));
      else if (this.isFree(pod)) daemons.push(this.#daemon(pod, pod, true));
    }
    for (const [id, after] of writes) {
      if (!this.#isOwned(after) || [...owned, ...orphans].some(({ name }) => name === after.name)) continue;
      // A new pod, or one that went while its deletion is under way.
      if (id.startsWith(CREATING) || after.deletionAt !== undefined)
        daemons.push(this.#daemon(after, after, true));
    }
    return daemons.length > 1 ? daemons.sort((a, b) => byAge(a.pod, b.pod)) : daemons;
  }

  #isOwned({ controller }: Pod): boolean {
    return controller?.uid === this.source.uid;
  }

  /** `stored` is the pod as the server holds it: another one where a write of ours is in flight. */
  #daemon(pod: Pod, stored: Pod, busy: boolean): Daemon {
    const { mark, minReadySeconds, options, now } = this.context;
    const terminating = pod.deletionAt !== undefined;
    const failed = pod.phase === "Failed";
    const isAsked = !terminating && !failed && !busy;
    const refresh = isAsked ? refreshOf({ pod, state: "" }, this.context) : notAsked;
    return {
      pod,
      updated: isUpdated(pod, mark),
      terminating,
      failed,
      available:
        isDaemonAvailable(pod, minReadySeconds, now) &&
        (stored === pod || isDaemonAvailable(stored, minReadySeconds, now)) &&
        isInPlaceOver(pod, options),
      preparing: lifecycleState(pod) === "PreparingDelete",
      busy,
      idle: refresh.isDone || refresh.awaited !== undefined,
      broken: refresh.isBroken,
    };
  }
}

/** Most pods were never updated in place: that is known without looking further. */
function isInPlaceOver(pod: Pod, options: DaemonSetOptions): boolean {
  const { annotations } = pod;
  const hasState = STATE_ANNOTATION in annotations || OLD_STATE_ANNOTATION in annotations;
  return !hasState || isUpdateComplete(pod, options);
}

function classify(slot: DaemonSlot): PodClass<Group, DaemonSetCount, DaemonNode> | undefined {
  const { name, node, owned, orphans, unselected, writes, context } = slot;
  const { eligibility } = slot;
  if (owned.length + orphans.length + writes.size === 0 && eligibility !== "run") return undefined;
  const daemons = slot.daemons();
  const entry: DaemonNode = {
    name,
    labels: node?.labels ?? {},
    eligibility,
    daemons: node === undefined ? [] : daemons,
    lost: node === undefined && name !== "" ? daemons.filter(({ pod }) => pod.nodeName === "") : [],
    toRelease: unselected.filter((pod) => slot.isFree(pod)),
    toAdopt: orphans.filter((pod) => slot.isFree(pod)),
  };
  const { group, counts = [] } = stateOf(slot, entry);
  // One that is to be released is counted no more (rule 15).
  const selected = unselected.length === 0 ? owned : owned.filter((pod) => !unselected.includes(pod));
  const groups: Group[] = group === undefined ? [] : [group];
  if (entry.lost.length > 0) groups.push("lost");
  if (entry.toRelease.length > 0) groups.push("toRelease");
  if (entry.toAdopt.length > 0) groups.push("toAdopt");
  return {
    groups,
    counts: [
      ...(node === undefined ? [] : statusCounts(eligibility, selected, context)),
      ...counts,
      ...[...owned, ...writes.values()].map(({ labels }) => revisionCount(labels[REVISION_LABEL])),
    ],
    entry,
    atRest: group !== "open" && groups.length === Number(group !== undefined),
    // Nobody tells when a write ends of a pod that has come to another node meanwhile.
    expires:
      orphans.length + unselected.length > 0 ||
      isMaturing(slot, daemons) ||
      daemons.some(({ broken }) => broken),
  };
}

/** `counts`: what else the node counts as. */
function stateOf(
  { owned, node, source }: DaemonSlot,
  { eligibility, daemons, labels }: DaemonNode,
): { group?: Group; counts?: DaemonSetCount[] } {
  if (node === undefined) return {};
  const [daemon] = daemons;
  // A pod that is just being let go still counts.
  if (daemon === undefined && owned.length === 0) return eligibility === "run" ? { group: "missing" } : {};
  if (eligibility !== "run" && daemon === undefined) return {};
  if (eligibility !== "run" || daemon === undefined || daemons.length > 1) return { group: "open" };
  const { pod, busy, terminating, failed, preparing, updated, available, idle, broken } = daemon;
  const isReady = readySince(pod) !== undefined;
  if (terminating || failed || preparing || broken) return { group: "open" };
  if (busy) return updated && !isReady ? { group: "begun", counts: ["starting"] } : { group: "open" };
  if (!idle) return { group: "open" };
  if (updated && available) return { group: "begun" };
  // Time alone makes a ready pod available; one that is not ready will be heard of.
  if (updated) return isReady ? { group: "open" } : { group: "begun", counts: ["starting"] };
  if (!available) return { group: "open" };
  return (source.nodeSelector?.matches(labels) ?? true) ? { group: "due" } : { counts: ["held"] };
}

/** Whether time alone changes what a pod counts as. */
function isMaturing(
  { owned, context: { minReadySeconds, now } }: DaemonSlot,
  daemons: readonly Daemon[],
): boolean {
  if (minReadySeconds === 0) return false;
  const pods = [...owned, ...daemons.map(({ pod }) => pod)];
  return pods.some((pod) => readySince(pod) !== undefined && !isDaemonAvailable(pod, minReadySeconds, now));
}
