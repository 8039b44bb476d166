/** What a pod counts as for one SidecarSet, and what it gives a pass to do. Spec: sidecarset, rules 29 to 32. */
import { compileSelector, keyOf, type LabelSelector, type Labels } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { Candidates } from "../../rollout/order/candidates.ts";
import { PodIndex, type SlotPods } from "../../rollout/pods/pod_index.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import type { PodClass, PodView } from "../../rollout/pods/pod_view.ts";
import { SortedSlots } from "../../rollout/pods/sorted_slots.ts";
import { type RevisionCount, revisionCount } from "../../rollout/revisions/revision_counts.ts";
import type { PendingPods } from "../../rollout/writes/pending_pods.ts";
import { resetPairs } from "./hot_upgrade.ts";
import { memberOf, revisionOfMember, type SidecarRollout, type SidecarSetMember } from "./rollout.ts";
import { reportedUpgradable } from "./upgradable.ts";

/** What pods are classified by. */
export interface ClassifyContext {
  readonly rollout: SidecarRollout;
  readonly namespaces: MatchedNamespaces;
}

/** The namespaces whose pods the set manages. */
export interface MatchedNamespaces {
  has(namespace: string): boolean;
  /** Grows when the answer of `has` may have changed. */
  readonly version: number;
}

/** All of them without a selector. `labelsOf`: undefined for a namespace that is not there, which never matches. */
export function matchedNamespaces(
  selector: LabelSelector | undefined,
  labelsOf: (namespace: string) => Labels | undefined,
  version: number,
): MatchedNamespaces {
  if (!selector) return { has: () => true, version: 0 };
  const compiled = compileSelector(selector);
  return {
    has: (name) => {
      const labels = labelsOf(name);
      return labels !== undefined && compiled.matches(labels);
    },
    version,
  };
}

/** Pods by what a pass has to do about them, those with a write in flight included; groups overlap. */
const newGroups = () => ({
  /** An update may begin with them. */
  candidates: new Candidates<SidecarSetMember>(),
  /** A container has handed over to the other one of its pair. */
  toReset: new SortedSlots(),
  /** To be said in their condition: that they cannot be updated in place, and that they can. */
  toRefuse: new SortedSlots(),
  toAllow: new SortedSlots(),
});
type Groups = ReturnType<typeof newGroups>;
type Group = keyof Groups;

export type StatusCount = "matchedPods" | "updatedPods" | "readyPods" | "updatedReadyPods";

export type SidecarSetCount =
  /** What the status reports: pods as the server shows them. */
  | StatusCount
  /** Members, to which writes in flight are applied. */
  | "member"
  | "old"
  /** Not ready with what it was updated to, or about to be restarted for an earlier update: it uses the budget. */
  | "unavailable"
  /** Waits for its recreation: more than images differ. */
  | "not upgradable"
  /** Old, and left so by `updateStrategy.selector`. */
  | "not selected"
  | RevisionCount;

export interface SidecarSetSlot {
  /** As it will be after a write in flight; undefined when it will not be the set's. */
  readonly member: SidecarSetMember | undefined;
}

export type SidecarView = PodView<Groups, SidecarSetCount, SidecarSetSlot>;

/** The pods that the set selects, in whatever namespace. */
export interface SelectedPodSource {
  pods(): Iterable<Pod>;
  /** By `namespace/name`. */
  pod(key: string): Pod | undefined;
  inFlight(): PendingPods;
}

/** Slots are pods by `namespace/name`. */
export class SidecarIndex extends PodIndex<ClassifyContext, Groups, SidecarSetCount, SidecarSetSlot> {
  constructor(source: SelectedPodSource) {
    super(
      {
        slotOf: keyOf,
        at: (slot) => {
          const pod = source.pod(slot);
          return pod === undefined ? [] : [pod];
        },
        *slots() {
          for (const pod of source.pods()) yield keyOf(pod);
        },
        pods: () => source.pods(),
        // The caches have it already.
        replace: () => undefined,
      },
      source.inFlight,
      {
        slots: () => [],
        basisOf: ({ rollout, namespaces }) => `${namespaces.version} ${rollout.text}`,
        classify,
      },
      newGroups(),
    );
  }
}

function classify(
  { stored: [stored], writes }: SlotPods,
  { rollout, namespaces }: ClassifyContext,
): PodClass<Group, SidecarSetCount, SidecarSetSlot> | undefined {
  if (stored === undefined || !namespaces.has(stored.namespace)) return undefined;
  const write = writes.get(stored.uid);
  const shown = isActive(stored) ? memberOf(stored, false, rollout) : undefined;
  const member = write === undefined ? shown : isActive(write) ? memberOf(write, true, rollout) : undefined;
  if (member === undefined && shown === undefined) return undefined;
  const groups: Group[] = member === undefined ? [] : groupsOf(member, rollout);
  const counts: SidecarSetCount[] = [];
  if (shown !== undefined) countShown(counts, shown);
  if (member !== undefined) countMember(counts, member, rollout);
  // A pod that has failed meanwhile is still ready in a write that was decided before.
  if ([shown, member].some((one) => one !== undefined && usesBudget(one))) counts.push("unavailable");
  // The write may be refused: until it is answered the pod has the revision that it had, too.
  if (shown !== undefined && shown !== member)
    counts.push(revisionCount(revisionOfMember(shown.pod, rollout.name)));
  return { groups, counts, entry: { member }, atRest: groups.length === 0, expires: false };
}

function groupsOf(member: SidecarSetMember, { name, sidecars }: SidecarRollout): Group[] {
  const { pod, updated, upgradable, selected, before, working } = member;
  const groups: Group[] = [];
  if (resetPairs(pod, sidecars, working, before).length > 0) groups.push("toReset");
  if (!updated && selected && upgradable && !member.settling) groups.push("candidates");
  const reported = reportedUpgradable(pod, name);
  if (!updated && selected && !upgradable && reported !== false) groups.push("toRefuse");
  const isAllowed = (updated && before !== undefined) || reported === false;
  if ((updated || upgradable) && isAllowed && reported !== true) groups.push("toAllow");
  return groups;
}

function countShown(counts: SidecarSetCount[], { updated, consistent, ready }: SidecarSetMember): void {
  counts.push("matchedPods");
  if (updated) counts.push("updatedPods");
  if (!consistent || !ready) return;
  counts.push("readyPods");
  if (updated) counts.push("updatedReadyPods");
}

export function usesBudget({ updated, settling, consistent, ready }: SidecarSetMember): boolean {
  return updated ? !(consistent && ready) : settling;
}

function countMember(counts: SidecarSetCount[], member: SidecarSetMember, { name }: SidecarRollout): void {
  const { pod, updated, upgradable, selected } = member;
  counts.push("member", revisionCount(revisionOfMember(pod, name)));
  if (!updated) counts.push("old");
  if (!updated && !selected) counts.push("not selected");
  if (!updated && selected && !upgradable) counts.push("not upgradable");
}
