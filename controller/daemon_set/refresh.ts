/** What each pod needs regardless of pause and partition: its gates, and the next batch of an update. Spec: daemonset rule 37. */
import type { Pod } from "../../kube/index.ts";
import type { Waiting } from "../rollout/actions.ts";
import { brokenStateEvents } from "../rollout/in_place/broken_state.ts";
import { inPlaceState } from "../rollout/in_place/state.ts";
import { type Refresh, refreshInPlace } from "../rollout/in_place/update.ts";
import { patchPod, waitingInPlace } from "../rollout/pod_actions.ts";
import { afterChange, type ConditionChange, podPatch } from "../rollout/pod_patch.ts";
import { needsKruiseReady } from "../rollout/readiness.ts";
import type { DaemonContext } from "./classify.ts";
import { type Daemon, REVISION_LABEL } from "./observe.ts";
import { isFree, type Pass } from "./pass.ts";

export function planRefresh(pass: Pass): void {
  for (const { daemons } of pass.open) {
    for (const daemon of daemons) {
      if (daemon.terminating || daemon.failed || (daemon.settled && !daemon.broken)) continue;
      if (isFree(pass, daemon)) refreshDaemon(pass, daemon);
    }
  }
}

/** What pods wait for while they are updated in place. As dear as there are nodes. */
export function waitingForNodes(pass: Pass): Waiting[] {
  const waiting: Waiting[] = [];
  for (const { daemons } of pass.pods.every()) {
    for (const daemon of daemons) {
      const { pod, terminating, failed } = daemon;
      if (terminating || failed || !isFree(pass, daemon)) continue;
      const step = stepOf(pass, pod);
      if (step.kind === "waiting") waiting.push(waitingInPlace(pod, step));
    }
  }
  return waiting;
}

function stepOf({ options, now }: Pick<DaemonContext, "options" | "now">, pod: Pod): Refresh {
  const revision = pod.labels[REVISION_LABEL] ?? "";
  return refreshInPlace(pod, (wanted) => wanted === revision, options, now);
}

/**
 * Whether the pod needs nothing before it is heard of again: whatever its node has to do follows from the pod alone.
 * Decided once for each projection, which never changes.
 */
export function isSettled(pod: Pod, context: Pick<DaemonContext, "options" | "settled" | "now">): boolean {
  const known = context.settled.get(pod);
  if (known !== undefined) return known;
  const step = stepOf(context, pod);
  const waits = step.kind === "waiting" && step.wakeAfterMs === undefined;
  const settled = (step.kind === "settled" || waits) && !needsKruiseReady(pod);
  context.settled.set(pod, settled);
  return settled;
}

function refreshDaemon(pass: Pass, { pod }: Daemon): void {
  for (const event of brokenStateEvents(pod, inPlaceState(pod))) pass.decided.take(event);
  const step = stepOf(pass, pod);
  if (step.kind === "write") {
    pass.decided.take({ type: "patch pod", pod, write: step.write, concern: "update" });
    return;
  }
  pass.decided.wake(step.kind === "waiting" ? step.wakeAfterMs : undefined);
  const conditions: ConditionChange[] = step.kind === "gate" ? [...step.conditions] : [];
  if (needsKruiseReady(pod)) conditions.push({ type: "KruisePodReady", status: "True" });
  if (conditions.length === 0) return;
  if (inPlaceState(pod).value !== undefined) {
    pass.decided.take(patchPod(pod, { conditions }, pass.now, "refresh"));
    return;
  }
  // A pod that was never updated gets its gates whatever its status says, so only the UID is a precondition.
  const patch = podPatch(pod, { conditions }, pass.now, { subresource: "status" });
  const write = { steps: [patch], after: afterChange(pod, { conditions }, pass.now) };
  pass.decided.take({ type: "patch pod", pod, write, concern: "refresh" });
}
