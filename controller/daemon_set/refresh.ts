/** What each pod needs regardless of pause and partition: its gates, and the next batch of an update. Spec: daemonset rule 37. */
import type { Pod } from "../../kube/index.ts";
import type { Waiting } from "../rollout/actions.ts";
import { brokenStateEvents } from "../rollout/in_place/broken_state.ts";
import { inPlaceState } from "../rollout/in_place/state.ts";
import { type Refresh, refreshInPlace } from "../rollout/in_place/update.ts";
import { patchPod } from "../rollout/pod_actions.ts";
import { afterChange, type ConditionChange, podPatch } from "../rollout/pod_patch.ts";
import { needsKruiseReady } from "../rollout/readiness.ts";
import { type Daemon, REVISION_LABEL } from "./observe.ts";
import { isFree, type Pass } from "./pass.ts";

/** `settled` holds pods that are known to need nothing: a projection never changes, so this outlives passes. */
export function planRefresh(pass: Pass, settled: WeakMap<object, boolean>): void {
  for (const { daemons } of pass.places) {
    for (const daemon of daemons) {
      if (daemon.terminating || daemon.failed || settled.get(daemon.pod) === true) continue;
      if (isFree(pass, daemon) && refreshDaemon(pass, daemon)) settled.set(daemon.pod, true);
    }
  }
}

/** What pods wait for while they are updated in place. As dear as there are nodes. */
export function waitingInPlace(pass: Pass): Waiting[] {
  const waiting: Waiting[] = [];
  for (const { daemons } of pass.survey.everyPlace()) {
    for (const daemon of daemons) {
      const { pod, terminating, failed } = daemon;
      if (terminating || failed || !isFree(pass, daemon)) continue;
      const step = stepOf(pass, pod);
      if (step.kind !== "waiting") continue;
      const message = `pod ${pod.name} waits for ${step.for}`;
      waiting.push({ reason: "InPlace", message, until: "the node reports it", pods: [pod.name] });
    }
  }
  return waiting;
}

function stepOf({ options, now }: Pass, pod: Pod): Refresh {
  const revision = pod.labels[REVISION_LABEL] ?? "";
  return refreshInPlace(pod, (wanted) => wanted === revision, options, now);
}

/** True when the pod needs nothing before it is heard of again: whatever its node has to do follows from the pod alone. */
function refreshDaemon(pass: Pass, { pod }: Daemon): boolean {
  for (const event of brokenStateEvents(pod, inPlaceState(pod))) pass.decided.take(event);
  const step = stepOf(pass, pod);
  if (step.kind === "write") {
    pass.decided.take({ type: "patch pod", pod, write: step.write, concern: "update" });
    return false;
  }
  const wakeAfterMs = step.kind === "waiting" ? step.wakeAfterMs : undefined;
  pass.decided.wake(wakeAfterMs);
  const conditions: ConditionChange[] = step.kind === "gate" ? [...step.conditions] : [];
  if (needsKruiseReady(pod)) conditions.push({ type: "KruisePodReady", status: "True" });
  if (conditions.length === 0) return wakeAfterMs === undefined;
  if (inPlaceState(pod).value !== undefined) {
    pass.decided.take(patchPod(pod, { conditions }, pass.now, "refresh"));
    return false;
  }
  // A pod that was never updated gets its gates whatever its status says, so only the UID is a precondition.
  const patch = podPatch(pod, { conditions }, pass.now, { subresource: "status" });
  const write = { steps: [patch], after: afterChange(pod, { conditions }, pass.now) };
  pass.decided.take({ type: "patch pod", pod, write, concern: "refresh" });
  return false;
}
