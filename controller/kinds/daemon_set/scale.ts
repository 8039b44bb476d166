/** Which pods are created and which go, node by node, whatever the rollout does. Spec: daemonset 4.2, 4.4, rule 34. */
import { preparingDelete } from "../../rollout/lifecycle/hooks.ts";
import { isHooked } from "../../rollout/lifecycle/lifecycle.ts";
import { conditionOf } from "../../rollout/pods/pod_state.ts";
import { patchPod, waitingForHook } from "../../rollout/writes/pod_actions.ts";
import type { DaemonNode } from "./classify.ts";
import { type Daemon, isDaemonAvailable } from "./observe.ts";
import type { Pass } from "./pass.ts";
import { createPod } from "./pod_manifest.ts";

export function planScale(pass: Pass): void {
  const missing: string[] = [];
  for (const node of pass.open) {
    if (node.eligibility === "none") for (const daemon of node.daemons) planDeletion(pass, daemon);
    else if (needsPod(pass, node)) missing.push(node.name);
    else planNode(pass, node);
  }
  for (const { lost } of pass.pods.entries(pass.pods.groups.lost))
    for (const daemon of lost) planDeletion(pass, daemon);
  planCreations(pass, nextOf(pass, missing));
}

/**
 * Without surge a pod on its way out still holds its node, so that two never run there; with surge its successor is
 * created at once (rule 12).
 */
function needsPod({ strategy }: Pass, { eligibility, daemons }: DaemonNode): boolean {
  if (eligibility !== "run") return false;
  if (daemons.length === 0) return true;
  return strategy.surges && daemons.every(({ terminating }) => terminating);
}

function planNode(pass: Pass, node: DaemonNode): void {
  const living: Daemon[] = [];
  for (const daemon of node.daemons) {
    if (daemon.terminating) continue;
    if (daemon.failed) planFailed(pass, node, daemon);
    else living.push(daemon);
  }
  // The oldest may still be on its way into the set: nobody makes room for it before it has arrived.
  if (living.length < 2 || living[0]?.busy) return;
  for (const daemon of pass.strategy.surges ? surplusOfSurge(pass, living) : living.slice(1)) {
    planDeletion(pass, daemon);
  }
}

/** Rule 34: at most the oldest new and the oldest old one, and the old one no longer than it is of use. */
function surplusOfSurge(pass: Pass, living: readonly Daemon[]): Daemon[] {
  const fresh = living.find(({ updated }) => updated);
  const old = living.find(({ updated }) => !updated);
  const surplus = living.filter((daemon) => daemon !== fresh && daemon !== old);
  if (fresh === undefined || old === undefined) return surplus;
  const done =
    conditionOf(old.pod, "Ready")?.status !== "True" ||
    isDaemonAvailable(fresh.pod, pass.strategy.minReadySeconds, pass.now);
  return done ? [...surplus, old] : surplus;
}

/** Rule 14. */
function planFailed(pass: Pass, node: DaemonNode, daemon: Daemon): void {
  if (!pass.decided.isFree(daemon)) return;
  const { name, namespace } = daemon.pod;
  const wait = pass.seen.failedPodWaitMs(node.name);
  if (wait > 0) {
    pass.decided.requeueAfter(wait);
    pass.decided.waiting.push({
      reason: "BackOff",
      message: `pod ${name} on node ${node.name} failed again: it is replaced after ${Math.ceil(wait / 1000)} s`,
      until: "the time is over",
      pods: [name],
    });
    return;
  }
  if (!daemon.preparing && pass.decided.room.delete > 0) {
    pass.decided.failedOn.push(node.name);
    const message = `Found failed daemon pod ${namespace}/${name} on node ${node.name}, will try to kill it`;
    pass.decided.take({ type: "event", event: { type: "Warning", reason: "FailedDaemonPod", message } });
  }
  planDeletion(pass, daemon);
}

/**
 * The nodes that get a pod now, lowest names first: of those that need one no more are taken than there is room for.
 * `seen` are those that had to be looked at.
 */
function nextOf(pass: Pass, seen: readonly string[]): readonly string[] {
  const { missing } = pass.pods.groups;
  const room = Math.max(0, Math.min(pass.decided.room.create, portionOf(pass, seen.length + missing.size)));
  const first = missing.first(room);
  return seen.length === 0 ? first : [...seen, ...first].sort().slice(0, room);
}

/** Rules 20 and 21: how many of the nodes that need a pod may get one; the partition leaves so many to the new revision. */
function portionOf(pass: Pass, missing: number): number {
  const { strategy } = pass;
  if (!strategy.partitionedScaling) return missing;
  const looked = pass.open.filter(({ eligibility, daemons }) => {
    return eligibility === "run" && daemons.some((daemon) => daemon.updated && !daemon.terminating);
  }).length;
  const updated = looked + pass.pods.groups.begun.size;
  const kept = Math.min(strategy.partition, strategy.desired);
  const portion = Math.min(missing, Math.max(0, strategy.desired - updated - kept));
  if (portion < missing) {
    pass.decided.waiting.push({
      reason: "PartitionedScaling",
      message: `${missing - portion} nodes get no pod yet: partition ${kept} holds creations back, too`,
      until: "partition is lowered",
    });
  }
  return portion;
}

/** A pod for each of the nodes, as far as the burst allows. */
export function planCreations(pass: Pass, nodes: readonly string[]): void {
  const { decided } = pass;
  for (const node of nodes) {
    if (decided.room.create <= 0) return;
    decided.room.create--;
    decided.take(createPod(pass, node));
  }
}

/** Every deletion of ours passes the preDelete hook; a pod that has come so far never comes back (rules 40 to 42). */
export function planDeletion(pass: Pass, daemon: Daemon): void {
  if (!pass.decided.isFree(daemon) || daemon.terminating) return;
  const { pod } = daemon;
  const { decided } = pass;
  const hook = pass.strategy.lifecycle?.preDelete;
  const hooked = isHooked(pod, hook);
  if (hooked && daemon.preparing) {
    decided.touched.add(pod.uid);
    decided.waiting.push(waitingForHook(pod, "preDelete"));
    return;
  }
  if (decided.room.delete <= 0) return;
  decided.room.delete--;
  if (!hooked) {
    decided.take({
      type: "delete pod",
      pod,
      claims: [],
      succeeded: { type: "Normal", reason: "SuccessfulDelete", message: `Deleted pod: ${pod.name}` },
      failed: { reason: "FailedDelete", message: "Error deleting" },
    });
    return;
  }
  decided.waiting.push(waitingForHook(pod, "preDelete"));
  decided.take(patchPod(pod, preparingDelete(pod, hook, pass.now), pass.now, "update"));
}

/** Pods that a hook held: deleted as soon as it lets go, also while paused. */
export function planReleased(pass: Pass): void {
  for (const { daemons } of pass.open) {
    for (const daemon of daemons) if (daemon.preparing) planDeletion(pass, daemon);
  }
}
