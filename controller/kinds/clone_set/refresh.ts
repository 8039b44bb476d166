/**
 * What each active pod needs regardless of pause and partition: its gates, its lifecycle state, its labels.
 * All of it goes into one request on the status subresource. Spec: cloneset 4.7 rule 40, 4.8; inplace-update 4.4.
 */

import { isCompleted } from "../../rollout/in_place/completion.ts";
import { eventsOfBroken, gatesOf, refreshPod, stepOf } from "../../rollout/in_place/refresh.ts";
import { afterUpdate } from "../../rollout/lifecycle/hooks.ts";
import { isAllHooked, stateMetadata } from "../../rollout/lifecycle/lifecycle.ts";
import { shortHash } from "../../rollout/revisions/revisions.ts";
import type { Action, Waiting } from "../../rollout/writes/actions.ts";
import { waitingForHook, waitingInPlace } from "../../rollout/writes/pod_actions.ts";
import type { PodChange } from "../../rollout/writes/pod_patch.ts";
import { type Member, REVISION_LABEL, TEMPLATE_HASH } from "./observe.ts";
import { membersOf } from "./order.ts";
import type { Pass } from "./pass.ts";

/** An unscheduled pod gets its gates after this time; most pods are scheduled sooner and save a request. */
const UNSCHEDULED_GATES_MS = 5000;

interface Refreshed {
  actions: Action[];
  waiting: Waiting[];
  requeueAfterMs: number | undefined;
}

export function reportBroken({ pods }: Pass): Action[] {
  return [...pods.entries(pods.groups.broken)].flatMap(({ pod }) => eventsOfBroken(pod));
}

/** `touched`: UIDs of pods that get another action in this pass. */
export function planRefresh(pass: Pass, touched: ReadonlySet<string>): Refreshed {
  const refreshed: Refreshed = { actions: [], waiting: [], requeueAfterMs: undefined };
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
  const step = stepOf(pod, pass);
  if (step.kind === "write") {
    refreshed.actions.push({ type: "patch pod", pod, write: step.write, concern: "update" });
    return;
  }
  if (step.kind === "waiting") {
    refreshed.waiting.push(waitingInPlace(pod, step));
    requeueAfter(refreshed, step.requeueAfterMs);
  }
  const moved = lifecycleMove(pass, member, refreshed);
  const conditions = [...gatesOf(pod, step), ...(moved?.conditions ?? [])];
  const labels: Record<string, string | null> = { ...moved?.labels };
  const revision = pod.labels[REVISION_LABEL] ?? "";
  if (!(TEMPLATE_HASH in pod.labels) && revision !== "") labels[TEMPLATE_HASH] = shortHash(revision);
  if (conditions.length === 0 && Object.keys(labels).length === 0) return;
  if (deferred(pass, member, refreshed)) return;
  const change: PodChange = { labels, annotations: moved?.annotations ?? {}, conditions };
  refreshed.actions.push(refreshPod(pod, change, pass.now, member.state === "PreparingDelete"));
}

/** Gates of a pod that is about to be scheduled wait for it: one request then does for gates and state. */
function deferred(pass: Pass, member: Member, refreshed: Refreshed): boolean {
  if (member.pod.nodeName !== "" || member.state !== "PreparingNormal") return false;
  const left = member.pod.createdAt + UNSCHEDULED_GATES_MS - pass.now;
  if (left <= 0) return false;
  requeueAfter(refreshed, left);
  return true;
}

function lifecycleMove(pass: Pass, member: Member, refreshed: Refreshed): PodChange | undefined {
  const { pod } = member;
  const lifecycle = pass.strategy.lifecycle;
  switch (member.state) {
    case "PreparingNormal": {
      const ready =
        lifecycle?.preNormal === undefined ? pod.nodeName !== "" : isAllHooked(pod, lifecycle.preNormal);
      if (ready) return stateMetadata("Normal", pass.now);
      if (lifecycle?.preNormal !== undefined) refreshed.waiting.push(waitingForHook(pod, "preNormal"));
      return undefined;
    }
    case "Updating":
      return isCompleted(pod, pass.options)
        ? afterUpdate(pod, lifecycle?.inPlaceUpdate, pass.now)
        : undefined;
    case "PreparingUpdate":
      // The template went back to what the pod already has: nothing is left to prepare for (rule 55).
      return member.updated && isCompleted(pod, pass.options) && wantsRevision(pass, member)
        ? afterUpdate(pod, lifecycle?.inPlaceUpdate, pass.now)
        : undefined;
    case "Updated": {
      const hook = lifecycle?.inPlaceUpdate;
      if (hook === undefined || isAllHooked(pod, hook)) return stateMetadata("Normal", pass.now);
      refreshed.waiting.push({
        ...waitingForHook(pod, "inPlaceUpdate"),
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

function requeueAfter(refreshed: Refreshed, afterMs: number | undefined): void {
  if (afterMs === undefined) return;
  refreshed.requeueAfterMs = Math.min(refreshed.requeueAfterMs ?? Number.POSITIVE_INFINITY, afterMs);
}
