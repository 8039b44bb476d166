/**
 * What each pod needs regardless of pause and partition: gates, lifecycle state, identity, owners of its claims.
 * Spec: statefulset 4.3 rule 9 e and g, 4.7, 4.9; inplace-update 4.4.
 */

import type { Pod } from "../../../kube/index.ts";
import type { Decisions } from "../../rollout/decisions.ts";
import { isCompleted } from "../../rollout/in_place/completion.ts";
import { gatesOf, type Refresh, refreshPod, stepOf } from "../../rollout/in_place/refresh.ts";
import { afterUpdate, leaveUpdated } from "../../rollout/lifecycle/hooks.ts";
import { isAllHooked, stateMetadata } from "../../rollout/lifecycle/lifecycle.ts";
import { waitingForHook } from "../../rollout/lifecycle/waiting.ts";
import { PRE_DELETE_KEY, removeNotReadyKey } from "../../rollout/pods/readiness.ts";
import { patchPod, waitingInPlace, writePod } from "../../rollout/writes/pod_actions.ts";
import type { PodChange } from "../../rollout/writes/pod_patch.ts";
import { hasWrongOwners, planClaimOwners } from "./claims.ts";
import { identityLabels, podWords } from "./pod_manifest.ts";
import type { StatefulSetContext, StatefulSetState } from "./state.ts";
import { POD_NAME_LABEL, type StatefulSetMember } from "./strategy.ts";

/** Whether `planRefresh` is to look at a pod that stays. */
export function isDue(
  context: StatefulSetContext,
  member: StatefulSetMember,
  { isDone, awaited }: Refresh,
): boolean {
  if (member.inWindow && hasWrongOwners(context, member)) return true;
  if (member.busy || member.finished) return false;
  return (!isDone && awaited === undefined) || (member.inWindow && !hasIdentity(member));
}

/** Whether nothing is awaited of the pod's update in place, by this pass or by its record. */
function hasTakenEffect({ refreshed, options }: StatefulSetContext, pod: Pod): boolean {
  return refreshed.get(pod) === true || isCompleted(pod, options);
}

export function planRefresh(state: StatefulSetState, decisions: Decisions): void {
  for (const { member, refresh } of state.pods.entries(state.pods.groups.due)) {
    if (member === undefined) continue;
    if (member.inWindow) planClaimOwners(state, decisions, member);
    if (!decisions.isFree(member) || member.finished) continue;
    if (!refresh.isDone && refresh.awaited === undefined) refreshMember(state, decisions, member);
    if (decisions.isFree(member)) repairIdentity(state, decisions, member);
  }
}

function refreshMember(state: StatefulSetState, decisions: Decisions, member: StatefulSetMember): void {
  const { pod } = member;
  const step = stepOf(pod, state);
  if (step.kind === "write") {
    // A pod that is changed again in this pass takes along what was not issued yet: see update.ts.
    decisions.propose(writePod(pod, step.write, "update"));
    return;
  }
  if (step.kind === "waiting") {
    decisions.wait(waitingInPlace(pod, step));
    decisions.requeueAfter(step.requeueAfterMs);
  }
  const moved = lifecycleMove(state, decisions, member);
  const conditions = [...gatesOf(pod, step), ...(moved?.conditions ?? [])];
  if (conditions.length === 0 && moved === undefined) return;
  const change = { ...moved, conditions };
  decisions.take(refreshPod(pod, change, state.now, change.labels !== undefined));
}

/** Rule 33. */
function lifecycleMove(
  state: StatefulSetState,
  decisions: Decisions,
  member: StatefulSetMember,
): PodChange | undefined {
  const { pod } = member;
  const lifecycle = state.strategy.lifecycle;
  switch (member.state) {
    case "PreparingNormal":
      if (lifecycle?.preNormal === undefined || isAllHooked(pod, lifecycle.preNormal))
        return stateMetadata("Normal", state.now);
      decisions.wait(waitingForHook(pod, "preNormal", lifecycle.preNormal, "on"));
      return undefined;
    case "Updating":
      return hasTakenEffect(state, pod) ? afterUpdate(pod, lifecycle?.inPlaceUpdate, state.now) : undefined;
    case "PreparingUpdate":
      // The template went back to what the pod already has: nothing is left to prepare for.
      return !isWanted(state, member) && hasTakenEffect(state, pod)
        ? afterUpdate(pod, lifecycle?.inPlaceUpdate, state.now)
        : undefined;
    case "Updated":
      return leaveUpdated(pod, lifecycle?.inPlaceUpdate, state.now, decisions);
    case "PreparingDelete":
      return cancelDeletion(state, member);
    default:
      return undefined;
  }
}

function isWanted(state: StatefulSetState, member: StatefulSetMember): boolean {
  return state.reach.outdated.has(member.pod.name);
}

/** A pod that was about to be deleted is wanted again: back in the window, no longer chosen, nothing to replace it for. */
function cancelDeletion(state: StatefulSetState, member: StatefulSetMember): PodChange | undefined {
  if (!member.inWindow || member.specified || isWanted(state, member)) return undefined;
  const { preNormal } = state.strategy.lifecycle ?? {};
  const next = preNormal === undefined || isAllHooked(member.pod, preNormal) ? "Normal" : "PreparingNormal";
  return { ...stateMetadata(next, state.now), conditions: removeNotReadyKey(member.pod, PRE_DELETE_KEY) };
}

function hasIdentity({ pod }: StatefulSetMember): boolean {
  return pod.labels[POD_NAME_LABEL] === pod.name;
}

/** Rule 7. */
function repairIdentity(state: StatefulSetState, decisions: Decisions, member: StatefulSetMember): void {
  if (!member.inWindow || hasIdentity(member)) return;
  const change = { labels: identityLabels(state, member.ordinal) };
  const words = podWords(state, "update", member.pod.name);
  decisions.take(patchPod(member.pod, change, state.now, "update", words));
}
