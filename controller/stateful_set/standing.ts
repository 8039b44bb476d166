/** What one ordinal of a StatefulSet counts as, and what it gives a pass to do. */
import type { Selector } from "../../kube/core/index.ts";
import type { Pod } from "../../kube/index.ts";
import { isAvailable, isReady } from "../rollout/pod_state.ts";
import { fittingClaim, isHeldByClaim } from "./claim_growth.ts";
import { hasWrongOwners, missingClaims } from "./claims.ts";
import { type Member, memberOf, REVISION_LABEL } from "./observe.ts";
import { isUpdateComplete, type View } from "./pass.ts";
import { needsRefresh } from "./refresh.ts";

/** Ordinals by what a pass has to do about them; groups overlap. */
export const groups = [
  /** Of the window, without a pod. */
  "missing",
  /** Of the window: missing, terminating, or not available. */
  "unhealthy",
  /** Of those: something is to be made or deleted there. */
  "acting",
  /** Of the window: they count against maxUnavailable (rule 20). */
  "unavailable",
  /** Of the window, chosen for deletion by label. */
  "specified",
  /** The partition wants them at the update revision, and they are not. */
  "outdated",
  /** Of those: a hook was told of it. */
  "begun",
  /** Pods outside of the window. */
  "condemned",
  /** Of those: to be deleted, or claims of theirs have the wrong owner. */
  "leaving",
  /** Gates, lifecycle state, identity or owners of claims are not as they should be, or not known to be. */
  "due",
] as const;
export type Group = (typeof groups)[number];

/** What members at a revision count as, before its name. */
export const REVISION = "revision ";

/** What a pod counts as one of: of the status's numbers, and of what is told of pods that stay behind. */
export type Count =
  | "replicas"
  | "readyReplicas"
  | "availableReplicas"
  | "currentReplicas"
  | "updatedReplicas"
  | "updatedReadyReplicas"
  | "updatedAvailableReplicas"
  | "behind"
  | "behind and staying"
  | `${typeof REVISION}${string}`
  /** As the claim template of this index asks, and holding what it asks for. */
  | `claim ${number}`
  | `held claim ${number}`;

/** Where the pod of one name is. */
export interface Place {
  /** Undefined for pods that have the set as owner, but a name that no ordinal has. */
  readonly ordinal: number | undefined;
  /** As the server shows it. */
  readonly stored: Pod | undefined;
  /** As it will be after a write in flight. */
  readonly pod: Pod | undefined;
  readonly busy: boolean;
  /** Nobody controls it, and this pass makes it a pod of the set. */
  readonly adopted: boolean;
}

export interface Standing {
  readonly ordinal: number | undefined;
  readonly member: Member | undefined;
  readonly groups: readonly Group[];
  readonly counts: readonly Count[];
  /** Pods that are no members: not selected any more, of nobody, or without an ordinal. */
  readonly apart: { readonly kind: Apart; readonly pod: Pod } | undefined;
  /** Time alone makes it available. */
  readonly ripens: boolean;
}
export type Apart = "loose" | "orphan" | "stranger";

export function standingOf(view: View, place: Place, selector: Selector): Standing {
  const { ordinal } = place;
  const apart = apartOf(place, selector);
  const member = apart === undefined ? memberAt(view, place) : undefined;
  const stored = place.stored?.controller?.uid === view.uid ? place.stored : undefined;
  const waits = (one: { ready: boolean; available: boolean }): boolean => one.ready && !one.available;
  const { minReadySeconds } = view.strategy;
  return {
    ordinal,
    member,
    groups: ordinal === undefined ? [] : groupsOf(view, ordinal, member),
    counts: [...countsOf(member), ...(stored === undefined ? [] : storedCounts(view, stored, ordinal))],
    apart,
    ripens:
      minReadySeconds > 0 &&
      ((member !== undefined && waits(member)) ||
        (stored !== undefined &&
          waits({ ready: isReady(stored), available: isAvailable(stored, minReadySeconds, view.now) }))),
  };
}

function apartOf(place: Place, selector: Selector): Standing["apart"] {
  const { pod, ordinal, busy, adopted } = place;
  if (pod === undefined) return undefined;
  if (pod.controller === undefined) return adopted ? undefined : { kind: "orphan", pod };
  if (pod.deletionAt !== undefined) return undefined;
  if (!busy && !selector.matches(pod.labels)) return { kind: "loose", pod };
  return ordinal === undefined ? { kind: "stranger", pod } : undefined;
}

/** Undefined where nobody is, or who is there has no ordinal. */
export function memberAt({ strategy, update, uid, now }: View, place: Place): Member | undefined {
  const { pod, ordinal, stored, busy, adopted } = place;
  if (pod === undefined || ordinal === undefined) return undefined;
  const shown = stored?.controller?.uid === uid ? stored : pod;
  return memberOf(pod, shown, ordinal, busy || adopted, strategy, update.name, now);
}

function groupsOf(view: View, ordinal: number, member: Member | undefined): Group[] {
  const rank = view.strategy.window.rankOf(ordinal);
  if (member === undefined)
    return rank === undefined ? [] : ["missing", "unhealthy", "acting", "unavailable"];
  const found: Group[] = [];
  const { terminating } = member;
  if (rank === undefined) {
    found.push("condemned");
    if (!terminating || hasWrongOwners(view, member)) found.push("leaving");
  } else {
    const unhealthy = terminating || !member.available;
    if (unhealthy) found.push("unhealthy");
    if (!terminating && isActing(view, member)) found.push("acting");
    if (unhealthy || !isUpdateComplete(view, member.pod) || isHeldByClaim(view, ordinal))
      found.push("unavailable");
    if (!terminating && member.specified) found.push("specified");
    if (!terminating && !member.updated && rank >= view.strategy.partition) {
      found.push("outdated");
      if (member.state === "PreparingUpdate" || member.state === "PreparingDelete") found.push("begun");
    }
  }
  if (!terminating && needsRefresh(view, member)) found.push("due");
  return found;
}

/** Its end is to be followed by its deletion; or it waits for claims that are not there, and that nobody is making. */
function isActing(view: View, { finished, pod, ordinal, busy }: Member): boolean {
  return finished || (!busy && pod.phase === "Pending" && missingClaims(view, ordinal).claims.length > 0);
}

function countsOf(member: Member | undefined): Count[] {
  if (member === undefined) return [];
  const revision: Count = `${REVISION}${member.pod.labels[REVISION_LABEL] ?? ""}`;
  if (!member.inWindow || member.updated) return [revision];
  return member.terminating ? [revision, "behind"] : [revision, "behind", "behind and staying"];
}

function storedCounts(view: View, pod: Pod, ordinal: number | undefined): Count[] {
  const counts: Count[] = [];
  for (const [index, template] of view.strategy.claimTemplates.entries()) {
    const fitting = ordinal === undefined ? undefined : fittingClaim(view, template, ordinal);
    if (fitting === undefined) continue;
    counts.push(`claim ${index}`);
    if (fitting.isHeld) counts.push(`held claim ${index}`);
  }
  if (pod.phase === "") return counts;
  const revision = pod.labels[REVISION_LABEL];
  const updated = revision === view.update.name;
  counts.push("replicas");
  if (isReady(pod)) counts.push("readyReplicas", ...(updated ? (["updatedReadyReplicas"] as const) : []));
  if (isAvailable(pod, view.strategy.minReadySeconds, view.now))
    counts.push("availableReplicas", ...(updated ? (["updatedAvailableReplicas"] as const) : []));
  if (pod.deletionAt !== undefined) return counts;
  if (revision === view.current.name) counts.push("currentReplicas");
  if (updated) counts.push("updatedReplicas");
  return counts;
}
