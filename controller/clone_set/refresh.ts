/**
 * What each active pod needs regardless of pause and partition: its gates, its lifecycle state, its labels.
 * All of it goes into one request on the status subresource. Spec: cloneset 4.7 rule 40, 4.8; inplace-update 4.4.
 */
import type { Pod } from "../../kube/index.ts";
import type { Action, Waiting } from "../rollout/actions.ts";
import { brokenStateEvents } from "../rollout/in_place/broken_state.ts";
import { isCompleted } from "../rollout/in_place/completion.ts";
import { graceState, inPlaceState } from "../rollout/in_place/state.ts";
import { refreshInPlace } from "../rollout/in_place/update.ts";
import { isAllHooked, STATE_LABEL, STATE_TIME, timestamp } from "../rollout/lifecycle.ts";
import type { ConditionChange, PodChange } from "../rollout/pod_patch.ts";
import { afterChange, podPatch } from "../rollout/pod_patch.ts";
import { needsKruiseReady, PRE_UPDATE_KEY, removeNotReadyKey } from "../rollout/readiness.ts";
import { sameRevision, shortHash } from "../rollout/revisions.ts";
import { type CloneSetOptions, type Member, REVISION_LABEL, TEMPLATE_HASH } from "./observe.ts";
import type { Pass } from "./plan.ts";
import { hookWaiting, patchAction } from "./scale.ts";

/** An unscheduled pod gets its gates after this time; most pods are scheduled sooner and save a request. */
const UNSCHEDULED_GATES_MS = 5000;

interface Refreshed {
  actions: Action[];
  waiting: Waiting[];
  wakeAfterMs: number | undefined;
}

/** `touched`: UIDs of pods that get another action in this pass. */
export function planRefresh(pass: Pass, touched: ReadonlySet<string>): Refreshed {
  const refreshed: Refreshed = { actions: [], waiting: [], wakeAfterMs: undefined };
  for (const member of pass.survey.due) {
    if (!touched.has(member.pod.uid)) refreshMember(pass, member, refreshed);
  }
  return refreshed;
}

export interface SettledContext {
  options: CloneSetOptions;
  now: number;
  /** What is known of projections, which never change. */
  settled: WeakMap<Pod, boolean>;
  /** Gets an event for each state that cannot be read, when its pod is first asked about. */
  broken: Action[];
}

/** The common case, decided once for each projection: nothing to do for a pod that is as it should be. */
export function isSettled({ pod, state }: Member, context: SettledContext): boolean {
  if (state !== "Normal" && state !== "") return false;
  if (!(TEMPLATE_HASH in pod.labels)) return false;
  const known = context.settled.get(pod);
  if (known !== undefined) return known;
  context.broken.push(...brokenStateEvents(pod, inPlaceState(pod), graceState(pod)));
  const settled =
    graceState(pod).value === undefined &&
    refreshInPlace(pod, () => true, context.options, context.now).kind === "settled" &&
    !needsKruiseReady(pod);
  context.settled.set(pod, settled);
  return settled;
}

/**
 * Pods about which only their node can bring news: what is waited for follows from the pod alone, which never changes,
 * and a rollout has as many of them as its budget allows, pass after pass.
 */
const awaitsNode = new WeakMap<Pod, { options: CloneSetOptions; waiting: Waiting }>();

function refreshMember(pass: Pass, member: Member, refreshed: Refreshed): void {
  const { pod } = member;
  const known = awaitsNode.get(pod);
  if (known?.options === pass.options) {
    refreshed.waiting.push(known.waiting);
    return;
  }
  const revision = pod.labels[REVISION_LABEL] ?? "";
  const step = refreshInPlace(pod, (wanted) => sameRevision(wanted, revision), pass.options, pass.now);
  if (step.kind === "write") {
    refreshed.actions.push({ type: "patch pod", pod, write: step.write, concern: "update" });
    return;
  }
  if (step.kind === "waiting") {
    const timed = step.wakeAfterMs !== undefined;
    const waiting: Waiting = {
      reason: step.reason,
      message: `pod ${pod.name} waits for ${step.for}`,
      until: timed ? "the time is over" : "the node reports it",
      pods: [pod.name],
    };
    refreshed.waiting.push(waiting);
    wake(refreshed, step.wakeAfterMs);
    if (!timed && isLeftToNode(member)) awaitsNode.set(pod, { options: pass.options, waiting });
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

/** Nothing else is to be written meanwhile, whatever the strategy says: neither gates nor labels nor a state. */
function isLeftToNode({ pod, state }: Member): boolean {
  return state === "Updating" && TEMPLATE_HASH in pod.labels && !needsKruiseReady(pod);
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
      return member.updated && isCompleted(pod, pass.options) && pass.wantsRevision(member)
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
