/** Which pods are created and which go, node by node, whatever the rollout does. Spec: daemonset 4.2, 4.4, rule 34. */
import type { Decisions } from "../../rollout/decisions.ts";
import { preparingDelete } from "../../rollout/lifecycle/hooks.ts";
import { isHooked } from "../../rollout/lifecycle/lifecycle.ts";
import { waitingForHook } from "../../rollout/lifecycle/waiting.ts";
import { isReady } from "../../rollout/pods/pod_state.ts";
import { deletePod, patchPod } from "../../rollout/writes/pod_actions.ts";
import type { DaemonNode } from "./classify.ts";
import type { DaemonSetDecisions } from "./decisions.ts";
import { createDaemonSetPod } from "./pod_manifest.ts";
import type { DaemonSetState } from "./state.ts";
import { type Daemon, isDaemonAvailable } from "./strategy.ts";

export function planScale(state: DaemonSetState, decisions: DaemonSetDecisions): void {
  const missing: string[] = [];
  for (const node of state.open) {
    if (node.eligibility === "none")
      for (const daemon of node.daemons) planDeletion(state, decisions, daemon);
    else if (needsPod(state, node)) missing.push(node.name);
    else planNode(state, decisions, node);
  }
  for (const { lost } of state.pods.entries(state.pods.groups.lost))
    for (const daemon of lost) planDeletion(state, decisions, daemon);
  planCreations(state, decisions, nextOf(state, decisions, missing));
}

/**
 * Without surge a pod on its way out still holds its node, so that two never run there; with surge its successor is
 * created at once (rule 12).
 */
export function needsPod({ strategy }: DaemonSetState, { eligibility, daemons }: DaemonNode): boolean {
  if (eligibility !== "run") return false;
  if (daemons.length === 0) return true;
  return strategy.surges && daemons.every(({ terminating }) => terminating);
}

function planNode(state: DaemonSetState, decisions: DaemonSetDecisions, node: DaemonNode): void {
  const living: Daemon[] = [];
  for (const daemon of node.daemons) {
    if (daemon.terminating) continue;
    if (daemon.failed) planFailed(state, decisions, node, daemon);
    else living.push(daemon);
  }
  // The oldest may still be on its way into the set: nobody makes room for it before it has arrived.
  if (living.length < 2 || living[0]?.busy) return;
  const { strategy } = state;
  for (const daemon of strategy.surges ? surplusOfSurge(state, living) : surplusOf(living))
    planDeletion(state, decisions, daemon);
}

/** Rule 13: all but the oldest. One whose hook was asked goes in any case (rule 42), and keeps no place for itself. */
function surplusOf(living: readonly Daemon[]): Daemon[] {
  const kept = living.find(stays) ?? living[0];
  return living.filter((daemon) => daemon !== kept);
}

function stays({ preparing }: Daemon): boolean {
  return !preparing;
}

/**
 * Rule 34: at most the oldest new and the oldest old one, and the old one no longer than it is of use. One whose hook was asked
 * is of none, however ready it is. Of several old ones the oldest that serves stays: they may be of one second.
 */
function surplusOfSurge(state: DaemonSetState, living: readonly Daemon[]): Daemon[] {
  const staying = living.filter(stays);
  const fresh = staying.find(({ updated }) => updated);
  const before = staying.filter(({ updated }) => !updated);
  const old = before.find(({ pod }) => isReady(pod)) ?? before[0];
  const surplus = living.filter((daemon) => daemon !== fresh && daemon !== old);
  if (fresh === undefined || old === undefined) return surplus;
  const done = !isReady(old.pod) || isDaemonAvailable(fresh.pod, state.strategy.minReadySeconds, state.now);
  return done ? [...surplus, old] : surplus;
}

/** Rule 14. */
function planFailed(
  state: DaemonSetState,
  decisions: DaemonSetDecisions,
  node: DaemonNode,
  daemon: Daemon,
): void {
  if (!decisions.isFree(daemon)) return;
  const { name, namespace } = daemon.pod;
  const wait = state.observed.failedPodWaitMs(node.name);
  if (wait > 0) {
    decisions.requeueAfter(wait);
    decisions.wait({
      reason: "BackOff",
      message: `pod ${name} on node ${node.name} failed again: it is replaced after ${Math.ceil(wait / 1000)} s`,
      until: "the time is over",
      pods: [name],
    });
    return;
  }
  if (!daemon.preparing && decisions.room.delete > 0) {
    decisions.failedOn.push(node.name);
    const message = `Found failed daemon pod ${namespace}/${name} on node ${node.name}, will try to kill it`;
    decisions.take({ type: "event", event: { type: "Warning", reason: "FailedDaemonPod", message } });
  }
  planDeletion(state, decisions, daemon);
}

/**
 * The nodes that get a pod now, lowest names first: of those that need one no more are taken than there is room for.
 * `looked` are those that had to be looked at.
 */
function nextOf(
  state: DaemonSetState,
  decisions: DaemonSetDecisions,
  looked: readonly string[],
): readonly string[] {
  const { missing } = state.pods.groups;
  const room = Math.max(
    0,
    Math.min(decisions.room.create, portionOf(state, decisions, looked.length + missing.size)),
  );
  const first = missing.first(room);
  return looked.length === 0 ? first : [...looked, ...first].sort().slice(0, room);
}

/** Rules 20 and 21: how many of the nodes that need a pod may get one; the partition leaves so many to the new revision. */
function portionOf(state: DaemonSetState, decisions: Decisions, missing: number): number {
  const { strategy } = state;
  if (!strategy.partitionedScaling) return missing;
  const looked = state.open.filter(({ eligibility, daemons }) => {
    return eligibility === "run" && daemons.some((daemon) => daemon.updated && !daemon.terminating);
  }).length;
  const updated = looked + state.pods.groups.begun.size;
  const kept = Math.min(strategy.partition, strategy.desired);
  const portion = Math.min(missing, Math.max(0, strategy.desired - updated - kept));
  if (portion < missing) {
    decisions.wait({
      reason: "PartitionedScaling",
      message: `${missing - portion} nodes get no pod yet: partition ${kept} holds creations back, too`,
      until: "partition is lowered",
    });
  }
  return portion;
}

/** A pod for each of the nodes, as far as the burst allows. */
export function planCreations(
  state: DaemonSetState,
  decisions: DaemonSetDecisions,
  nodes: readonly string[],
): void {
  for (const node of nodes) {
    if (decisions.room.create <= 0) return;
    decisions.room.create--;
    decisions.take(createDaemonSetPod(state, node, decisions.names));
  }
}

/** Every deletion of ours passes the preDelete hook; a pod that has come so far never comes back (rules 40 to 42). */
export function planDeletion(state: DaemonSetState, decisions: DaemonSetDecisions, daemon: Daemon): void {
  if (!decisions.isFree(daemon) || daemon.terminating) return;
  const { pod } = daemon;
  const hook = state.strategy.lifecycle?.preDelete;
  const hooked = isHooked(pod, hook);
  if (hooked && daemon.preparing) {
    decisions.hold(pod);
    decisions.wait(waitingForHook(pod, "preDelete", hook, "off"));
    return;
  }
  if (decisions.room.delete <= 0) return;
  decisions.room.delete--;
  if (!hooked) {
    const deletion = deletePod(pod, {
      succeeded: { reason: "SuccessfulDelete", message: `Deleted pod: ${pod.name}` },
      failed: { reason: "FailedDelete", message: "Error deleting" },
    });
    decisions.take(deletion);
    return;
  }
  decisions.wait(waitingForHook(pod, "preDelete", hook, "off"));
  decisions.take(patchPod(pod, preparingDelete(pod, hook, state.now), state.now, "update"));
}

/** Pods that a hook held: deleted as soon as it lets go, also while paused. */
export function planReleased(state: DaemonSetState, decisions: DaemonSetDecisions): void {
  for (const { daemons } of state.open) {
    for (const daemon of daemons) if (daemon.preparing) planDeletion(state, decisions, daemon);
  }
}
