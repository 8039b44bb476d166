/**
 * What each pod needs regardless of pause and partition: gates, lifecycle state, identity, owners of its claims.
 * Spec: statefulset 4.3 rule 9 e and g, 4.7, 4.9; inplace-update 4.4.
 */

import { eventsOfBroken, gatesOf, type Refresh, refreshPod, stepOf } from "../../rollout/in_place/refresh.ts";
import { afterUpdate } from "../../rollout/lifecycle/hooks.ts";
import { isAllHooked, stateMetadata } from "../../rollout/lifecycle/lifecycle.ts";
import { PRE_DELETE_KEY, removeNotReadyKey } from "../../rollout/pods/readiness.ts";
import type { Waiting } from "../../rollout/writes/actions.ts";
import { patchPod, waitingForHook, waitingInPlace } from "../../rollout/writes/pod_actions.ts";
import type { PodChange } from "../../rollout/writes/pod_patch.ts";
import { hasWrongOwners, planClaimOwners } from "./claims.ts";
import { type Member, POD_NAME_LABEL } from "./observe.ts";
import { isUpdateComplete, type Pass, type PassContext, podWords } from "./pass.ts";
import { identityLabels } from "./pod_manifest.ts";

/** Whether `planRefresh` is to look at a pod that stays. */
export function isDue(context: PassContext, member: Member, { isDone, awaited }: Refresh): boolean {
  if (member.inWindow && hasWrongOwners(context, member)) return true;
  if (member.busy || member.finished) return false;
  return (!isDone && awaited === undefined) || (member.inWindow && !hasIdentity(member));
}

export function reportBroken({ pods, decided }: Pass): void {
  for (const { pod } of pods.entries(pods.groups.broken)) {
    if (pod !== undefined) decided.actions.push(...eventsOfBroken(pod));
  }
}

export function planRefresh(pass: Pass): void {
  for (const { member, refresh } of pass.pods.entries(pass.pods.groups.due)) {
    if (member === undefined) continue;
    if (member.inWindow) planClaimOwners(pass, member);
    if (!pass.decided.isFree(member) || member.finished) continue;
    if (!refresh.isDone && refresh.awaited === undefined) refreshMember(pass, member);
    if (pass.decided.isFree(member)) repairIdentity(pass, member);
  }
}

/** What pods wait for that get no action in this pass. A rollout has as many of them as its budget allows. */
export function awaitedOfNodes({ pods, decided }: Pass): Waiting[] {
  return [...pods.entries(pods.groups.awaitingNode)].flatMap(({ pod, refresh: { awaited } }) =>
    awaited === undefined || pod === undefined || decided.touched.has(pod.uid) ? [] : awaited,
  );
}

function refreshMember(pass: Pass, member: Member): void {
  const { pod } = member;
  const step = stepOf(pod, pass);
  if (step.kind === "write") {
    // A pod that is changed again in this pass takes along what was not issued yet: see update.ts.
    pass.decided.later.push({ type: "patch pod", pod, write: step.write, concern: "update" });
    return;
  }
  if (step.kind === "waiting") {
    pass.decided.waiting.push(waitingInPlace(pod, step));
    pass.decided.requeueAfter(step.requeueAfterMs);
  }
  const moved = lifecycleMove(pass, member);
  const conditions = [...gatesOf(pod, step), ...(moved?.conditions ?? [])];
  if (conditions.length === 0 && moved === undefined) return;
  const change = { ...moved, conditions };
  pass.decided.take(refreshPod(pod, change, pass.now, change.labels !== undefined));
}

/** Rule 33. */
function lifecycleMove(pass: Pass, member: Member): PodChange | undefined {
  const { pod } = member;
  const lifecycle = pass.strategy.lifecycle;
  switch (member.state) {
    case "PreparingNormal":
      if (lifecycle?.preNormal === undefined || isAllHooked(pod, lifecycle.preNormal))
        return stateMetadata("Normal", pass.now);
      pass.decided.waiting.push(waitingForHook(pod, "preNormal"));
      return undefined;
    case "Updating":
      return isUpdateComplete(pass, pod) ? afterUpdate(pod, lifecycle?.inPlaceUpdate, pass.now) : undefined;
    case "PreparingUpdate":
      // The template went back to what the pod already has: nothing is left to prepare for.
      return !isWanted(pass, member) && isUpdateComplete(pass, pod)
        ? afterUpdate(pod, lifecycle?.inPlaceUpdate, pass.now)
        : undefined;
    case "Updated":
      if (lifecycle?.inPlaceUpdate === undefined || isAllHooked(pod, lifecycle.inPlaceUpdate))
        return stateMetadata("Normal", pass.now);
      pass.decided.waiting.push({
        ...waitingForHook(pod, "inPlaceUpdate"),
        until: "every handler of the hook is back on the pod",
      });
      return undefined;
    case "PreparingDelete":
      return cancelDeletion(pass, member);
    default:
      return undefined;
  }
}

function isWanted(pass: Pass, member: Member): boolean {
  return pass.reach.outdated.has(member.pod.name);
}

/** A pod that was about to be deleted is wanted again: back in the window, no longer chosen, nothing to replace it for. */
function cancelDeletion(pass: Pass, member: Member): PodChange | undefined {
  if (!member.inWindow || member.specified || isWanted(pass, member)) return undefined;
  const { preNormal } = pass.strategy.lifecycle ?? {};
  const state = preNormal === undefined || isAllHooked(member.pod, preNormal) ? "Normal" : "PreparingNormal";
  return { ...stateMetadata(state, pass.now), conditions: removeNotReadyKey(member.pod, PRE_DELETE_KEY) };
}

function hasIdentity({ pod }: Member): boolean {
  return pod.labels[POD_NAME_LABEL] === pod.name;
}

/** Rule 7. */
function repairIdentity(pass: Pass, member: Member): void {
  if (!member.inWindow || hasIdentity(member)) return;
  const change = { labels: identityLabels(pass, member.ordinal) };
  const words = podWords(pass, "update", member.pod.name);
  pass.decided.take({ ...patchPod(member.pod, change, pass.now, "update"), ...words });
}
