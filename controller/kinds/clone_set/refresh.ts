/**
 * What each active pod needs regardless of pause and partition: its gates, its lifecycle state, its labels.
 * All of it goes into one request on the status subresource. Spec: cloneset 4.7 rule 40, 4.8; inplace-update 4.4.
 */

import type { Decisions } from "../../rollout/decisions.ts";
import { isCompleted } from "../../rollout/in_place/completion.ts";
import { awaitedOfNodes, gatesOf, refreshPod, stepOf } from "../../rollout/in_place/refresh.ts";
import { afterUpdate, leaveUpdated } from "../../rollout/lifecycle/hooks.ts";
import { isAllHooked, stateMetadata } from "../../rollout/lifecycle/lifecycle.ts";
import { waitingForHook } from "../../rollout/lifecycle/waiting.ts";
import { membersOf } from "../../rollout/pods/pod_view.ts";
import { shortHash } from "../../rollout/revisions/revisions.ts";
import { waitingInPlace, writePod } from "../../rollout/writes/pod_actions.ts";
import type { PodChange } from "../../rollout/writes/pod_patch.ts";
import { isUnderWay } from "./order.ts";
import type { CloneSetState } from "./state.ts";
import { type CloneSetMember, REVISION_LABEL, TEMPLATE_HASH } from "./strategy.ts";

/** An unscheduled pod gets its gates after this time; most pods are scheduled sooner and save a request. */
const UNSCHEDULED_GATES_MS = 5000;

export function planRefresh(state: CloneSetState, decisions: Decisions): void {
  const { pods } = state;
  decisions.wait(() => awaitedOfNodes(state, decisions));
  const stranded = strandedOf(state);
  for (const member of membersOf(pods.entries(pods.groups.due)))
    if (decisions.isFree(member)) refreshMember(state, decisions, member, stranded);
}

/** Pods whose hook was asked about an update that they are not to have any more: the last ones, beyond as many as are still to be updated. */
function strandedOf({ pods, numbers, strategy }: CloneSetState): ReadonlySet<CloneSetMember> {
  const wanted = strategy.onDelete ? 0 : Math.max(0, numbers.update);
  const beyond = pods.count("old preparingUpdate") - wanted;
  if (beyond <= 0) return new Set();
  const preparing: CloneSetMember[] = [];
  // Those under way come first.
  for (const member of pods.groups.candidates) {
    if (!isUnderWay(member)) break;
    if (!member.specified) preparing.push(member);
  }
  return new Set(preparing.slice(-beyond));
}

function refreshMember(
  state: CloneSetState,
  decisions: Decisions,
  member: CloneSetMember,
  stranded: ReadonlySet<CloneSetMember>,
): void {
  const { pod } = member;
  const step = stepOf(pod, state);
  if (step.kind === "write") {
    decisions.take(writePod(pod, step.write, "update"));
    return;
  }
  if (step.kind === "waiting") {
    decisions.wait(waitingInPlace(pod, step));
    decisions.requeueAfter(step.requeueAfterMs);
  }
  const moved = lifecycleMove(state, decisions, member, stranded);
  const conditions = [...gatesOf(pod, step), ...(moved?.conditions ?? [])];
  const labels: Record<string, string | null> = { ...moved?.labels };
  const revision = pod.labels[REVISION_LABEL] ?? "";
  if (!(TEMPLATE_HASH in pod.labels) && revision !== "") labels[TEMPLATE_HASH] = shortHash(revision);
  if (conditions.length === 0 && Object.keys(labels).length === 0) return;
  if (deferred(state, decisions, member)) return;
  const change: PodChange = { labels, annotations: moved?.annotations ?? {}, conditions };
  decisions.take(refreshPod(pod, change, state.now, member.state === "PreparingDelete"));
}

/** Gates of a pod that is about to be scheduled wait for it: one request then does for gates and state. */
function deferred(state: CloneSetState, decisions: Decisions, member: CloneSetMember): boolean {
  if (member.pod.nodeName !== "" || member.state !== "PreparingNormal") return false;
  const left = member.pod.createdAt + UNSCHEDULED_GATES_MS - state.now;
  if (left <= 0) return false;
  decisions.requeueAfter(left);
  return true;
}

function lifecycleMove(
  state: CloneSetState,
  decisions: Decisions,
  member: CloneSetMember,
  stranded: ReadonlySet<CloneSetMember>,
): PodChange | undefined {
  const { pod } = member;
  const lifecycle = state.strategy.lifecycle;
  switch (member.state) {
    case "PreparingNormal": {
      const ready =
        lifecycle?.preNormal === undefined ? pod.nodeName !== "" : isAllHooked(pod, lifecycle.preNormal);
      if (ready) return stateMetadata("Normal", state.now);
      if (lifecycle?.preNormal !== undefined)
        decisions.wait(waitingForHook(pod, "preNormal", lifecycle.preNormal, "on"));
      return undefined;
    }
    case "Updating":
      return isCompleted(pod, state.options)
        ? afterUpdate(pod, lifecycle?.inPlaceUpdate, state.now)
        : undefined;
    case "PreparingUpdate":
      // The template went back to what the pod already has, or the pod stays what it is: nothing is left to prepare for (rule 55).
      return isCompleted(pod, state.options) && (stranded.has(member) || isWhereItBelongs(state, member))
        ? afterUpdate(pod, lifecycle?.inPlaceUpdate, state.now)
        : undefined;
    case "Updated":
      return leaveUpdated(pod, lifecycle?.inPlaceUpdate, state.now, decisions);
    default:
      return undefined;
  }
}

/** At the update revision, and not to go back from there, as pods above the partition may have to. */
function isWhereItBelongs({ numbers }: CloneSetState, { updated }: CloneSetMember): boolean {
  return updated && numbers.update >= 0;
}
