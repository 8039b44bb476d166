/**
 * What each pod needs regardless of pause and partition: gates, lifecycle state, identity, owners of its claims.
 * Spec: statefulset 4.3 rule 9 e and g, 4.7, 4.9; inplace-update 4.4.
 */
import type { Pod } from "../../kube/index.ts";
import type { Action, Waiting } from "../rollout/actions.ts";
import { brokenStateEvents } from "../rollout/in_place/broken_state.ts";
import { graceState, inPlaceState } from "../rollout/in_place/state.ts";
import { isAllHooked, STATE_LABEL, STATE_TIME, timestamp } from "../rollout/lifecycle.ts";
import { patchPod, waitingForHook, waitingInPlace } from "../rollout/pod_actions.ts";
import { afterChange, type ConditionChange, type PodChange, podPatch } from "../rollout/pod_patch.ts";
import { needsKruiseReady, PRE_DELETE_KEY, PRE_UPDATE_KEY, removeNotReadyKey } from "../rollout/readiness.ts";
import { hasWrongOwners, planClaimOwners } from "./claims.ts";
import { type Member, POD_NAME_LABEL } from "./observe.ts";
import { inPlaceStep, isFree, isUpdateComplete, type Pass, type PassContext, podWords } from "./pass.ts";
import { identityLabels } from "./pod_manifest.ts";

/** What there is to do for a pod, whatever the strategy says, as far as the pod itself tells. */
export interface Refresh {
  readonly isDue: boolean;
  /** Its state cannot be read, and nobody was told so yet. */
  readonly isBroken: boolean;
  readonly isSettled: boolean;
  /** What only its node can bring: neither gates nor a state are to be written meanwhile. */
  readonly awaited: Waiting | undefined;
}

export function refreshOf(context: PassContext, member: Member): Refresh {
  const { pod, state, inWindow } = member;
  const isNormal = state === "Normal" || state === "";
  const wrongOwners = inWindow && hasWrongOwners(context, member);
  const none = { isDue: wrongOwners, isBroken: false, isSettled: isNormal, awaited: undefined };
  if (member.busy || member.finished) return none;
  const isNews = isNormal && !context.settled.has(pod);
  const isSettled = isNormal && isInPlaceSettled(context, pod);
  const awaited = isSettled ? undefined : awaitedOfNode(context, member);
  const isLeftToNode = isSettled || awaited !== undefined;
  return {
    isDue: wrongOwners || !isLeftToNode || (inWindow && !hasIdentity(member)),
    isBroken: isNews && eventsOfBroken(pod).length > 0,
    isSettled,
    awaited,
  };
}

/** Decided once for each projection, which never changes: nothing to do for a pod that is as it should be. */
function isInPlaceSettled(context: PassContext, pod: Pod): boolean {
  const known = context.settled.get(pod);
  if (known !== undefined) return known;
  const settled =
    graceState(pod).value === undefined &&
    inPlaceStep(context, pod).kind === "settled" &&
    !needsKruiseReady(pod);
  context.settled.set(pod, settled);
  return settled;
}

function eventsOfBroken(pod: Pod): Action[] {
  return brokenStateEvents(pod, inPlaceState(pod), graceState(pod));
}

function awaitedOfNode(context: PassContext, { pod, state }: Member): Waiting | undefined {
  if ((state !== "Updating" && state !== "Normal" && state !== "") || needsKruiseReady(pod)) return undefined;
  const step = inPlaceStep(context, pod);
  return step.kind === "waiting" && step.wakeAfterMs === undefined ? waitingInPlace(pod, step) : undefined;
}

export function tellBroken({ pods, decided }: Pass): void {
  for (const { pod } of pods.entries(pods.groups.broken)) {
    if (pod !== undefined) decided.actions.push(...eventsOfBroken(pod));
  }
}

export function planRefresh(pass: Pass): void {
  for (const { member, refresh } of pass.pods.entries(pass.pods.groups.due)) {
    if (member === undefined) continue;
    if (member.inWindow) planClaimOwners(pass, member);
    if (!isFree(pass, member) || member.finished) continue;
    if (!refresh.isSettled && refresh.awaited === undefined) refreshMember(pass, member);
    if (isFree(pass, member)) repairIdentity(pass, member);
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
  const step = inPlaceStep(pass, pod);
  if (step.kind === "write") {
    // A pod that is changed again in this pass takes along what was not issued yet: see update.ts.
    pass.decided.later.push({ type: "patch pod", pod, write: step.write, concern: "update" });
    return;
  }
  if (step.kind === "waiting") {
    pass.decided.waiting.push(waitingInPlace(pod, step));
    pass.decided.wake(step.wakeAfterMs);
  }
  const conditions: ConditionChange[] = step.kind === "gate" ? [...step.conditions] : [];
  if (needsKruiseReady(pod)) conditions.push({ type: "KruisePodReady", status: "True" });
  const moved = lifecycleMove(pass, member);
  conditions.push(...(moved?.conditions ?? []));
  if (conditions.length === 0 && moved === undefined) return;
  refresh(pass, member, { ...moved, conditions });
}

/**
 * A pod that was never updated gets its gates whatever its status says, so only the UID is a precondition;
 * all other moves depend on what was seen.
 */
function refresh(pass: Pass, { pod }: Member, change: PodChange): void {
  if (inPlaceState(pod).value !== undefined || change.labels !== undefined) {
    pass.decided.take(patchPod(pod, change, pass.now, "refresh"));
    return;
  }
  const step = podPatch(pod, change, pass.now, { subresource: "status" });
  const write = { steps: [step], after: afterChange(pod, change, pass.now) };
  pass.decided.take({ type: "patch pod", pod, write, concern: "refresh" });
}

/** Rule 33. */
function lifecycleMove(pass: Pass, member: Member): PodChange | undefined {
  const { pod } = member;
  const lifecycle = pass.strategy.lifecycle;
  switch (member.state) {
    case "PreparingNormal":
      if (lifecycle?.preNormal === undefined || isAllHooked(pod, lifecycle.preNormal))
        return toState(pass, "Normal");
      pass.decided.waiting.push(waitingForHook(pod, "preNormal"));
      return undefined;
    case "Updating":
      return isUpdateComplete(pass, pod) ? afterUpdate(pass, member) : undefined;
    case "PreparingUpdate":
      // The template went back to what the pod already has: nothing is left to prepare for.
      return !isWanted(pass, member) && isUpdateComplete(pass, pod) ? afterUpdate(pass, member) : undefined;
    case "Updated":
      if (lifecycle?.inPlaceUpdate === undefined || isAllHooked(pod, lifecycle.inPlaceUpdate))
        return toState(pass, "Normal");
      pass.decided.waiting.push({
        ...waitingForHook(pod, "inPlaceUpdate"),
        until: "every handler of the hook is back on the pod",
      });
      return undefined;
    case "PreparingDelete":
      return regret(pass, member);
    default:
      return undefined;
  }
}

function isWanted(pass: Pass, member: Member): boolean {
  return pass.reach.outdated.has(member.pod.name);
}

/** Rule 33. Without a hook the state `Updated` would last no longer than the next request. */
function afterUpdate(pass: Pass, { pod }: Member): PodChange {
  const hook = pass.strategy.lifecycle?.inPlaceUpdate;
  const state = hook === undefined || isAllHooked(pod, hook) ? "Normal" : "Updated";
  return { ...toState(pass, state), conditions: removeNotReadyKey(pod, PRE_UPDATE_KEY) };
}

/** A pod that was about to be deleted is wanted again: back in the window, no longer chosen, nothing to replace it for. */
function regret(pass: Pass, member: Member): PodChange | undefined {
  if (!member.inWindow || member.specified || isWanted(pass, member)) return undefined;
  const { preNormal } = pass.strategy.lifecycle ?? {};
  const state = preNormal === undefined || isAllHooked(member.pod, preNormal) ? "Normal" : "PreparingNormal";
  return { ...toState(pass, state), conditions: removeNotReadyKey(member.pod, PRE_DELETE_KEY) };
}

function toState(pass: Pass, state: "Normal" | "PreparingNormal" | "Updated"): PodChange {
  return { labels: { [STATE_LABEL]: state }, annotations: { [STATE_TIME]: timestamp(pass.now) } };
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
