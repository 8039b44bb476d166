/** What the pods of a StatefulSet are counted and grouped by, name by name. */
import type { Pod } from "../../../kube/index.ts";
import type { Refresh } from "../../rollout/in_place/refresh.ts";
import type { PodView } from "../../rollout/pods/pod_view.ts";
import { byText, SortedSlots } from "../../rollout/pods/sorted_slots.ts";
import type { RevisionCount } from "../../rollout/revisions/revision_counts.ts";
import type { StatefulSetMember } from "./strategy.ts";

/** Pods by what a pass has to do about them; groups overlap. */
export const newGroups = () => ({
  /** Ordinals of the window without a pod. */
  missing: new SortedSlots(byOrdinal),
  /** Of the window: missing, terminating, or not available. */
  unhealthy: new SortedSlots(byOrdinal),
  /** Of those: something is to be made or deleted there. */
  acting: new SortedSlots(byOrdinal),
  /** Of the window: they count against maxUnavailable (rule 20). */
  unavailable: new SortedSlots(byOrdinal),
  /** Of the window, chosen for deletion by label. */
  specified: new SortedSlots(byOrdinal),
  /** The partition wants them at the update revision, and they are not. */
  outdated: new SortedSlots(byOrdinal),
  /** Of those: a hook was asked about it. */
  begun: new SortedSlots(byOrdinal),
  /** Pods outside of the window. */
  condemned: new SortedSlots(byOrdinal),
  /** Of those: to be deleted, or claims of theirs have the wrong owner. */
  leaving: new SortedSlots(byOrdinal),
  /** Gates, lifecycle state, identity or owners of claims are not as they should be. */
  due: new SortedSlots(byOrdinal),
  /** Only their node can bring what they wait for. */
  awaitingNode: new SortedSlots(byOrdinal),
  /** Their state cannot be read, and that was not reported yet. */
  broken: new SortedSlots(byOrdinal),
  /** Time alone makes them available. */
  awaitingMinReady: new SortedSlots(byOrdinal),
  /** Owned, and not selected any more. */
  toRelease: new SortedSlots(byOrdinal),
  /** Nobody controls them, and they fit. */
  toAdopt: new SortedSlots(byOrdinal),
  /** Owned under a name that no ordinal has. */
  strangers: new SortedSlots(byOrdinal),
});
export type Groups = ReturnType<typeof newGroups>;
export type Group = keyof Groups;

/** Names of one set's pods end with their ordinals, which have no leading zeros. */
export function byOrdinal(a: string, b: string): number {
  return a.length - b.length || byText(a, b);
}

/** What a pod counts as one of: of the status's numbers, and of what is reported of pods that stay behind. */
export type StatefulSetCount =
  | "replicas"
  | "readyReplicas"
  | "availableReplicas"
  | "currentReplicas"
  | "updatedReplicas"
  | "updatedReadyReplicas"
  | "updatedAvailableReplicas"
  | "behind"
  | "behind and staying"
  | RevisionCount
  /** As the claim template of this index asks, and holding what it asks for. */
  | `claim ${number}`
  | `held claim ${number}`;

/** The pod of one name. */
export interface StatefulSetSlot {
  /** Undefined for pods that have the set as owner, but a name that no ordinal has. */
  readonly ordinal: number | undefined;
  /** As it will be after a write in flight. */
  readonly pod: Pod | undefined;
  /** Undefined for pods that are not selected any more, have no controller, or have no ordinal. */
  readonly member: StatefulSetMember | undefined;
  readonly refresh: Refresh;
}

export type SetView = PodView<Groups, StatefulSetCount, StatefulSetSlot>;
