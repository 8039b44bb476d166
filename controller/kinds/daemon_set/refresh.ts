/** What each pod needs regardless of pause and partition: its gates, and the next batch of an update. Spec: daemonset rule 37. */

import type { Decisions } from "../../rollout/decisions.ts";
import { brokenStateEvents } from "../../rollout/in_place/broken_state.ts";
import { gatesOf, refreshPod, stepOf } from "../../rollout/in_place/refresh.ts";
import { inPlaceState } from "../../rollout/in_place/state.ts";
import type { Waiting } from "../../rollout/writes/actions.ts";
import { waitingInPlace, writePod } from "../../rollout/writes/pod_actions.ts";
import type { DaemonSetState } from "./state.ts";
import type { Daemon } from "./strategy.ts";

export function planRefresh(state: DaemonSetState, decisions: Decisions): void {
  for (const { daemons } of state.open) {
    for (const daemon of daemons) {
      if (daemon.terminating || daemon.failed || (daemon.idle && !daemon.broken)) continue;
      if (decisions.isFree(daemon)) refreshDaemon(state, decisions, daemon);
    }
  }
}

/** What pods wait for that get no action in this pass. O(pods). */
export function* awaitedOfNodes(state: DaemonSetState, decisions: Decisions): Generator<Waiting> {
  for (const { daemons } of state.pods.every()) {
    for (const daemon of daemons) {
      const { pod, terminating, failed } = daemon;
      if (terminating || failed || !decisions.isFree(daemon)) continue;
      const step = stepOf(pod, state);
      if (step.kind === "waiting") yield waitingInPlace(pod, step);
    }
  }
}

function refreshDaemon(state: DaemonSetState, decisions: Decisions, { pod }: Daemon): void {
  decisions.takeAll(brokenStateEvents(pod, inPlaceState(pod)));
  const step = stepOf(pod, state);
  if (step.kind === "write") {
    decisions.take(writePod(pod, step.write, "update"));
    return;
  }
  if (step.kind === "waiting") decisions.requeueAfter(step.requeueAfterMs);
  const conditions = gatesOf(pod, step);
  if (conditions.length > 0) decisions.take(refreshPod(pod, { conditions }, state.now, false));
}
