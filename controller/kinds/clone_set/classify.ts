/** What a pod of a CloneSet counts as, and what it gives a pass to do. Spec: cloneset 4.1 rule 7. */
import type { Selector } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { notAsked, type Refresh, type RefreshContext, refreshOf } from "../../rollout/in_place/refresh.ts";
import { graceState } from "../../rollout/in_place/state.ts";
import { Candidates } from "../../rollout/order/candidates.ts";
import { awaitsMinReady } from "../../rollout/pods/min_ready.ts";
import { NamedPods, type PodSource } from "../../rollout/pods/named_pods.ts";
import { PodIndex, type SlotPods } from "../../rollout/pods/pod_index.ts";
import { isActive, isAvailable, isReady } from "../../rollout/pods/pod_state.ts";
import type { PodClass, PodView } from "../../rollout/pods/pod_view.ts";
import { SortedSlots } from "../../rollout/pods/sorted_slots.ts";
import { type RevisionCount, revisionCount } from "../../rollout/revisions/revision_counts.ts";
import { sameRevision } from "../../rollout/revisions/revisions.ts";
import { CREATING, isBeingCreated, type PendingPods } from "../../rollout/writes/pending_pods.ts";
import type { ClassCount, CloneSetCounts } from "./numbers.ts";
import { isUnderWay } from "./order.ts";
import {
  type CloneSetMember,
  type CloneSetStrategy,
  memberOf,
  REVISION_LABEL,
  TEMPLATE_HASH,
} from "./strategy.ts";

/** What pods are classified by: all of them again when the revision, the selector or this part of the strategy changes. */
export interface ClassifyContext extends RefreshContext {
  readonly updateRevision: string;
  readonly strategy: Pick<CloneSetStrategy, "minReadySeconds" | "podsToDelete">;
  readonly selector: Selector;
  /** The same as text. */
  readonly selectorText: string;
}

/** Pods by what a pass has to do about them; groups overlap. */
const newGroups = () => ({
  unavailable: new SortedSlots(),
  /** Without a write in flight, and to be refreshed, or waiting for something. */
  due: new SortedSlots(),
  /** As those, but that only their node can bring what they wait for. */
  awaitingNode: new SortedSlots(),
  /** Their state cannot be read, and that was not reported yet. */
  broken: new SortedSlots(),
  preparingDelete: new SortedSlots(),
  /** Chosen for deletion by label or by name, and not being prepared for it. */
  specified: new SortedSlots(),
  /** At another revision, and not on their way out or in a grace period. */
  candidates: new Candidates<CloneSetMember>(isUnderWay),
  /** Owned, not selected any more, and without a write in flight: no members. */
  toRelease: new SortedSlots(),
  /** Time alone makes them available. */
  awaitingMinReady: new SortedSlots(),
});
type Groups = ReturnType<typeof newGroups>;
type Group = keyof Groups;

export type StoredCount =
  | "replicas"
  | "readyReplicas"
  | "availableReplicas"
  | "updatedReplicas"
  | "updatedReadyReplicas"
  | "updatedAvailableReplicas";

export type CloneSetCount =
  /** What the status reports: pods as the server shows them. */
  | StoredCount
  /** Members, to which writes in flight are applied. */
  | `${"updated" | "old"} ${keyof ClassCount}`
  | "unavailable at the update revision"
  | "unavailable candidate"
  | RevisionCount
  /** Creations and deletions that are under way and not answered. */
  | "creating"
  | "deleting";

/** The pod of one name. */
export interface CloneSetSlot {
  /** As it will be after a write in flight. */
  readonly pod: Pod;
  /** As the server shows it, while it is active. */
  readonly stored: Pod | undefined;
  /** Undefined for one that is not active, or not selected any more. */
  readonly member: CloneSetMember | undefined;
  readonly refresh: Refresh;
}

export type CloneView = PodView<Groups, CloneSetCount, CloneSetSlot>;

interface CloneSource extends PodSource {
  inFlight(): PendingPods;
}

/** Of a source that has the pods that the set controls. */
export class CloneIndex extends PodIndex<ClassifyContext, Groups, CloneSetCount, CloneSetSlot> {
  constructor(source: CloneSource) {
    super(
      new NamedPods(source),
      source.inFlight,
      {
        slots: () => [],
        basisOf: ({ updateRevision, strategy: { minReadySeconds, podsToDelete }, selectorText }) =>
          JSON.stringify([updateRevision, minReadySeconds, [...podsToDelete], selectorText]),
        classify,
      },
      newGroups(),
    );
  }
}

function classify(
  { slot, stored: [stored], writes }: SlotPods,
  context: ClassifyContext,
): PodClass<Group, CloneSetCount, CloneSetSlot> | undefined {
  // Of pods that are not stored only those to be created are there.
  const write = writes.get(stored?.uid ?? `${CREATING}${slot}`);
  const pod = write ?? stored;
  if (pod === undefined) return undefined;
  const busy = write !== undefined;
  const { strategy, updateRevision, now } = context;
  const isSelected = stored === undefined || context.selector.matches(stored.labels);
  const toRelease = !busy && !isSelected;
  const member =
    isActive(pod) && !toRelease
      ? memberOf(pod, stored ?? pod, busy, strategy, updateRevision, now)
      : undefined;
  const shown = stored !== undefined && isActive(stored) ? stored : undefined;
  const refresh = member === undefined || busy ? notAsked : refreshOfMember(member, context);
  const isMaturing = awaitsMinReady(member, shown, strategy.minReadySeconds, now);
  const groups: Group[] = member === undefined ? [] : groupsOf(member, refresh);
  if (toRelease) groups.push("toRelease");
  if (isMaturing) groups.push("awaitingMinReady");
  const counts: CloneSetCount[] = [];
  if (member !== undefined) countMember(counts, member, groups.includes("candidates"));
  // One that is to be released is counted no more (rule 1).
  if (shown !== undefined && isSelected) countStored(counts, shown, context);
  if (isBeingCreated(pod)) counts.push("creating");
  if (busy && !isActive(pod) && shown !== undefined) counts.push("deleting");
  return {
    groups,
    counts,
    entry: { pod, stored: shown, member, refresh },
    atRest: groups.length === 0,
    expires: isMaturing || refresh.isBroken,
  };
}

/** A pod of another controller lacks a label first. */
function refreshOfMember(member: CloneSetMember, context: ClassifyContext): Refresh {
  const isLabelled = TEMPLATE_HASH in member.pod.labels;
  return isLabelled ? refreshOf(member, context) : { ...notAsked, isDone: false };
}

function groupsOf(member: CloneSetMember, { isDone, isBroken, awaited }: Refresh): Group[] {
  const { pod, available, updated, state, specified } = member;
  const groups: Group[] = [];
  if (awaited !== undefined) groups.push("awaitingNode");
  else if (!isDone) groups.push("due");
  if (isBroken) groups.push("broken");
  if (!available) groups.push("unavailable");
  if (state === "PreparingDelete") groups.push("preparingDelete");
  else if (specified) groups.push("specified");
  if (!updated && state !== "PreparingDelete" && graceState(pod).value === undefined)
    groups.push("candidates");
  return groups;
}

function countMember(counts: CloneSetCount[], member: CloneSetMember, isCandidate: boolean): void {
  const { pod, available, updated, state, specified } = member;
  const at = updated ? "updated" : "old";
  counts.push(revisionCount(pod.labels[REVISION_LABEL]));
  if (!available && updated) counts.push("unavailable at the update revision");
  if (!available && isCandidate) counts.push("unavailable candidate");
  if (state === "PreparingDelete") {
    counts.push(`${at} preDeleting`);
    return;
  }
  counts.push(`${at} active`);
  if (state === "PreparingUpdate") counts.push(`${at} preparingUpdate`);
  if (specified) counts.push(`${at} toDelete`);
  else if (!available) counts.push(`${at} unavailable`);
}

function countStored(counts: CloneSetCount[], pod: Pod, context: ClassifyContext): void {
  const ready = isReady(pod);
  const available = ready && isAvailable(pod, context.strategy.minReadySeconds, context.now);
  counts.push("replicas");
  if (ready) counts.push("readyReplicas");
  if (available) counts.push("availableReplicas");
  if (!sameRevision(pod.labels[REVISION_LABEL] ?? "", context.updateRevision)) return;
  counts.push("updatedReplicas");
  if (ready) counts.push("updatedReadyReplicas");
  if (available) counts.push("updatedAvailableReplicas");
}

/** What the status reports. */
export function storedCounts(pods: CloneView): Record<StoredCount, number> {
  return {
    replicas: pods.count("replicas"),
    readyReplicas: pods.count("readyReplicas"),
    availableReplicas: pods.count("availableReplicas"),
    updatedReplicas: pods.count("updatedReplicas"),
    updatedReadyReplicas: pods.count("updatedReadyReplicas"),
    updatedAvailableReplicas: pods.count("updatedAvailableReplicas"),
  };
}

export function memberCounts(pods: CloneView): CloneSetCounts {
  const at = (revision: "updated" | "old"): ClassCount => ({
    active: pods.count(`${revision} active`),
    preDeleting: pods.count(`${revision} preDeleting`),
    toDelete: pods.count(`${revision} toDelete`),
    unavailable: pods.count(`${revision} unavailable`),
    preparingUpdate: pods.count(`${revision} preparingUpdate`),
  });
  return { updated: at("updated"), old: at("old") };
}
