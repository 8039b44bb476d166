/** What each pod needs regardless of pause and partition: its gates, and the next batch of an update. Spec: daemonset rule 37. */

import { brokenStateEvents } from "../../rollout/in_place/broken_state.ts";
import { gatesOf, refreshPod, stepOf } from "../../rollout/in_place/refresh.ts";
import { inPlaceState } from "../../rollout/in_place/state.ts";
import type { Waiting } from "../../rollout/writes/actions.ts";
import { waitingInPlace } from "../../rollout/writes/pod_actions.ts";
import type { Daemon } from "./observe.ts";
import type { Pass } from "./pass.ts";

export function planRefresh(pass: Pass): void {
  for (const { daemons } of pass.open) {
    for (const daemon of daemons) {
      if (daemon.terminating || daemon.failed || (daemon.idle && !daemon.broken)) continue;
      if (pass.decided.isFree(daemon)) refreshDaemon(pass, daemon);
    }
  }
}

/** What pods wait for while they are updated in place. O(nodes). */
export function waitingForNodes(pass: Pass): Waiting[] {
  const waiting: Waiting[] = [];
  for (const { daemons } of pass.pods.every()) {
    for (const daemon of daemons) {
      const { pod, terminating, failed } = daemon;
      if (terminating || failed || !pass.decided.isFree(daemon)) continue;
      const step = stepOf(pod, pass);
      if (step.kind === "waiting") waiting.push(waitingInPlace(pod, step));
    }
  }
  return waiting;
}

function refreshDaemon(pass: Pass, { pod }: Daemon): void {
  for (const event of brokenStateEvents(pod, inPlaceState(pod))) pass.decided.take(event);
  const step = stepOf(pod, pass);
  if (step.kind === "write") {
    pass.decided.take({ type: "patch pod", pod, write: step.write, concern: "update" });
    return;
  }
  if (step.kind === "waiting") pass.decided.requeueAfter(step.requeueAfterMs);
  const conditions = gatesOf(pod, step);
  if (conditions.length > 0) pass.decided.take(refreshPod(pod, { conditions }, pass.now, false));
}
