/**
 * What each active pod needs regardless of pause and partition: its gates, its lifecycle state, its labels.
 * All of it goes into one request on the status subresource. Spec: cloneset 4.7 rule 40, 4.8; inplace-update 4.4.
 */
import type { Pod } from "../../kube/index.ts";
import type { Action, Waiting } from "../rollout/actions.ts";
import { brokenStateEvents } from "../rollout/in_place/broken_state.ts";
import { isCompleted } from "../rollout/in_place/completion.ts";
import { graceState, inPlaceState } from "../rollout/in_place/state.ts";
import { type Refresh as InPlaceStep, refreshInPlace } from "../rollout/in_place/update.ts";
import { isAllHooked, STATE_LABEL, STATE_TIME, timestamp } from "../rollout/lifecycle.ts";
import { waitingInPlace } from "../rollout/pod_actions.ts";
import type { ConditionChange, PodChange } from "../rollout/pod_patch.ts";
import { afterChange, podPatch } from "../rollout/pod_patch.ts";
import { needsKruiseReady, PRE_UPDATE_KEY, removeNotReadyKey } from "../rollout/readiness.ts";
import { sameRevision, shortHash } from "../rollout/revisions.ts";
import type { ClassifyContext } from "./classify.ts";
import { type Member, REVISION_LABEL, TEMPLATE_HASH } from "./observe.ts";
import { membersOf } from "./order.ts";
import type { Pass } from "./plan.ts";
import { hookWaiting, patchAction } from "./scale.ts";

/** An unscheduled pod gets its gates after this time; most pods are scheduled sooner and save a request. */
const UNSCHEDULED_GATES_MS = 5000;

interface Refreshed {
  actions: Action[];
  waiting: Waiting[];
  wakeAfterMs: number | undefined;
}

/** What there is to do for a pod, whatever the strategy says, as far as the pod itself tells. */
export interface Refresh {
  readonly isDue: boolean;
  /** Its state cannot be read, and nobody was told so yet. */
  readonly isBroken: boolean;
  /** What only its node can bring: nothing is to be written meanwhile. */
  readonly awaited: Waiting | undefined;
}

export function refreshOf(member: Member, context: ClassifyContext): Refresh {
  const { pod, state, busy } = member;
  if (busy) return { isDue: false, isBroken: false, awaited: undefined };
  const isAsked = (state === "Normal" || state === "") && TEMPLATE_HASH in pod.labels;
  const isNews = isAsked && !context.settled.has(pod);
  const settled = isAsked && isSettled(pod, context);
  const awaited = settled ? undefined : awaitedOfNode(member, context);
  return {
    isDue: !settled && awaited === undefined,
    isBroken: isNews && eventsOfBroken(pod).length > 0,
    awaited,
  };
}

/** Decided once for each projection, which never changes: nothing to do for a pod that is as it should be. */
function isSettled(pod: Pod, context: ClassifyContext): boolean {
  const known = context.settled.get(pod);
  if (known !== undefined) return known;
  const settled =
    graceState(pod).value === undefined && stepOf(pod, context).kind === "settled" && !needsKruiseReady(pod);
  context.settled.set(pod, settled);
  return settled;
}

function stepOf(pod: Pod, { options, now }: Pick<ClassifyContext, "options" | "now">): InPlaceStep {
  const revision = pod.labels[REVISION_LABEL] ?? "";
  return refreshInPlace(pod, (wanted) => sameRevision(wanted, revision), options, now);
}

function awaitedOfNode({ pod, state }: Member, context: ClassifyContext): Waiting | undefined {
  if (state !== "Updating" && state !== "Normal" && state !== "") return undefined;
  if (!(TEMPLATE_HASH in pod.labels) || needsKruiseReady(pod)) return undefined;
  const step = stepOf(pod, context);
  return step.kind === "waiting" && step.wakeAfterMs === undefined ? waitingInPlace(pod, step) : undefined;
}

function eventsOfBroken(pod: Pod): Action[] {
  return brokenStateEvents(pod, inPlaceState(pod), graceState(pod));
}

export function tellBroken({ pods }: Pass): Action[] {
  return [...pods.entries(pods.groups.broken)].flatMap(({ pod }) => eventsOfBroken(pod));
}

/** `touched`: UIDs of pods that get another action in this pass. */
export function planRefresh(pass: Pass, touched: ReadonlySet<string>): Refreshed {
  const refreshed: Refreshed = { actions: [], waiting: [], wakeAfterMs: undefined };
  for (const member of membersOf(pass.pods.entries(pass.pods.groups.due))) {
    if (!touched.has(member.pod.uid)) refreshMember(pass, member, refreshed);
  }
  return refreshed;
}

/** What pods wait for that get no action in this pass. A rollout has as many of them as its budget allows. */
export function awaitedOfNodes({ pods }: Pass, touched: ReadonlySet<string>): Waiting[] {
  return [...pods.entries(pods.groups.awaitingNode)].flatMap(({ pod, refresh: { awaited } }) =>
    awaited === undefined || touched.has(pod.uid) ? [] : awaited,
  );
}

function refreshMember(pass: Pass, member: Member, refreshed: Refreshed): void {
  const { pod } = member;
  const revision = pod.labels[REVISION_LABEL] ?? "";
  const step = stepOf(pod, pass);
  if (step.kind === "write") {
    refreshed.actions.push({ type: "patch pod", pod, write: step.write, concern: "update" });
    return;
  }
  if (step.kind === "waiting") {
    refreshed.waiting.push(waitingInPlace(pod, step));
    wake(refreshed, step.wakeAfterMs);
  }
  const conditions: ConditionChange[] = step.kind === "gate" ? [...step.conditions] : [];
  if (needsKruiseReady(pod)) conditions.push({ type: "KruisePodReady", status: "True" });
  const moved = lifecycleMove(pass, member, refreshed);
  const labels: Record<string, string | null> = { ...moved?.labels };
  if (!(TEMPLATE_HASH in pod.labels) && revision !== "") labels[TEMPLATE_HASH] = shortHash(revision);
  conditions.push(...(moved?.conditions ?? []));
  if (conditions.length === 0 && Object.keys(labels).length === 0) return;
  if (deferred(pass, member, refreshed)) return;
  const change: PodChange = { labels, annotations: moved?.annotations ?? {}, conditions };
  refreshed.actions.push(refreshAction(pass, member, change));
}

/** Gates of a pod that is about to be scheduled wait for it: one request then does for gates and state. */
function deferred(pass: Pass, member: Member, refreshed: Refreshed): boolean {
  if (member.pod.nodeName !== "" || member.state !== "PreparingNormal") return false;
  const left = member.pod.createdAt + UNSCHEDULED_GATES_MS - pass.now;
  if (left <= 0) return false;
  wake(refreshed, left);
  return true;
}

/**
 * A pod that was never updated gets its gates whatever its status says, so only the UID is a precondition;
 * all other moves depend on what was seen.
 */
function refreshAction(pass: Pass, member: Member, change: PodChange): Action {
  if (inPlaceState(member.pod).value !== undefined || member.state === "PreparingDelete") {
    return patchAction(pass, member, change, "refresh");
  }
  const subresource = (change.conditions ?? []).length > 0 ? { subresource: "status" as const } : {};
  const step = podPatch(member.pod, change, pass.now, subresource);
  const write = { steps: [step], after: afterChange(member.pod, change, pass.now) };
  return { type: "patch pod", pod: member.pod, write, concern: "refresh" };
}

function lifecycleMove(pass: Pass, member: Member, refreshed: Refreshed): PodChange | undefined {
  const { pod } = member;
  const lifecycle = pass.strategy.lifecycle;
  switch (member.state) {
    case "PreparingNormal": {
      const ready =
        lifecycle?.preNormal === undefined ? pod.nodeName !== "" : isAllHooked(pod, lifecycle.preNormal);
      if (ready) return toState(pass, "Normal");
      if (lifecycle?.preNormal !== undefined) refreshed.waiting.push(hookWaiting(member, "preNormal"));
      return undefined;
    }
    case "Updating":
      return isCompleted(pod, pass.options) ? afterUpdate(pass, pod) : undefined;
    case "PreparingUpdate":
      // The template went back to what the pod already has: nothing is left to prepare for (rule 55).
      return member.updated && isCompleted(pod, pass.options) && wantsRevision(pass, member)
        ? afterUpdate(pass, pod)
        : undefined;
    case "Updated": {
      const hook = lifecycle?.inPlaceUpdate;
      if (hook === undefined || isAllHooked(pod, hook)) return toState(pass, "Normal");
      refreshed.waiting.push({
        ...hookWaiting(member, "inPlaceUpdate"),
        until: "every handler of the hook is back on the pod",
      });
      return undefined;
    }
    default:
      return undefined;
  }
}

/** Whether the pod's revision is the one it is meant to have: above the partition pods may go back. */
function wantsRevision({ numbers }: Pass, member: Member): boolean {
  return numbers.update >= 0 || !member.updated;
}

/** Rule 54. Without a hook the state `Updated` would last no longer than the next request. */
function afterUpdate(pass: Pass, pod: Pod): PodChange {
  const hook = pass.strategy.lifecycle?.inPlaceUpdate;
  const state = hook === undefined || isAllHooked(pod, hook) ? "Normal" : "Updated";
  return { ...toState(pass, state), conditions: removeNotReadyKey(pod, PRE_UPDATE_KEY) };
}

function toState(pass: Pass, state: "Normal" | "Updated"): PodChange {
  return { labels: { [STATE_LABEL]: state }, annotations: { [STATE_TIME]: timestamp(pass.now) } };
}

function wake(refreshed: Refreshed, afterMs: number | undefined): void {
  if (afterMs === undefined) return;
  refreshed.wakeAfterMs = Math.min(refreshed.wakeAfterMs ?? Number.POSITIVE_INFINITY, afterMs);
}
