/** Bringing pods to the update revision without surge. Spec: daemonset 4.5, 4.7. */

import { counted } from "../../../kube/core/index.ts";
import type { Decisions } from "../../rollout/decisions.ts";
import { type ImageWait, imageWait } from "../../rollout/images/image_wait.ts";
import { type Eligibility, type InPlaceChange, inPlaceChange } from "../../rollout/in_place/change.ts";
import { Eligibilities } from "../../rollout/in_place/eligibility.ts";
import { withUnissued } from "../../rollout/in_place/unissued.ts";
import { startInPlace } from "../../rollout/in_place/update.ts";
import { budgetText } from "../../rollout/order/budget_text.ts";
import { hasGate, IN_PLACE_READY } from "../../rollout/pods/pod_state.ts";
import { writePod } from "../../rollout/writes/pod_actions.ts";
import type { DaemonSetDecisions } from "./decisions.ts";
import { type UpdateWindow, updateWindow } from "./order.ts";
import { hashOf, templatesOf } from "./revisions.ts";
import { planDeletion } from "./scale.ts";
import type { DaemonSetState } from "./state.ts";
import { type Daemon, REVISION_LABEL } from "./strategy.ts";
import { planSurge } from "./surge.ts";

/** How pods are updated in this pass. */
interface Target {
  /** Undefined where pods are recreated. */
  readonly eligible: Eligibilities | undefined;
  /** Undefined where no pod waits for an image. */
  readonly wait: ImageWait | undefined;
}

export function planUpdate(state: DaemonSetState, decisions: DaemonSetDecisions): void {
  const { strategy } = state;
  const window = updateWindow(state.open, state.pods, strategy, state.options);
  reportHeld(state, decisions, window);
  if (strategy.surges && strategy.maxSurge > 0) {
    planSurge(state, decisions, window);
    return;
  }
  const { urgent, unavailable } = urgencyOf(window);
  const target = targetOf(state);
  for (const daemon of urgent)
    if (!isHeld(decisions, daemon, target)) updateDaemon(state, decisions, daemon, target);
  const room = Math.max(0, strategy.maxUnavailable - unavailable);
  const { left, taken } = updateDue(state, decisions, window, { target, room });
  target.wait?.report(decisions);
  if (left === 0) return;
  decisions.wait({
    reason: "Budget",
    message: `${counted(left, "pod waits", "pods wait")}: ${budgetText(strategy.maxUnavailable, unavailable, taken)}`,
    until: "these pods become available",
  });
}

function targetOf(state: DaemonSetState): Target {
  if (!state.strategy.inPlace) return { eligible: undefined, wait: undefined };
  return {
    eligible: new Eligibilities((from) => eligibility(state, from)),
    wait: imageWait(state, () => true),
  };
}

interface Updated {
  readonly taken: number;
  readonly left: number;
}

/** Updates old pods that serve, in their order, as many as there is room for. */
function updateDue(
  state: DaemonSetState,
  decisions: DaemonSetDecisions,
  window: UpdateWindow,
  { target, room }: { readonly target: Target; readonly room: number },
): Updated {
  let taken = 0;
  // Without images to wait for, nobody needs to look at those for whom there is no room.
  const isCounted = target.wait === undefined;
  let left = isCounted ? dueCount(window) : 0;
  if (isCounted && room === 0) return { taken, left };
  for (const { old } of window.due()) {
    const [daemon] = old;
    if (daemon === undefined || !daemon.available) continue;
    // Pods that wait for an image let those go first whose nodes have it.
    if (isHeld(decisions, daemon, target)) continue;
    if (taken < room) {
      // A pod with a write under way keeps its turn: it is decided on when the write has ended.
      if (decisions.isFree(daemon)) updateDaemon(state, decisions, daemon, target);
      taken++;
      if (isCounted) left--;
    } else if (isCounted) break;
    else left++;
  }
  return { taken, left };
}

/** Old pods of the window that serve. */
function dueCount({ sites, quietDue }: UpdateWindow): number {
  let count = quietDue;
  for (const { fresh, old } of sites) {
    const [daemon] = old;
    if (fresh.length + old.length === 1 && daemon?.available && !daemon.preparing) count++;
  }
  return count;
}

interface Urgency {
  /** Old pods that serve nobody: replaced at once. */
  urgent: Daemon[];
  /** Nodes of the window without an available pod: they use up maxUnavailable. */
  unavailable: number;
}

/** Rules 27 and 28, but for old pods that serve. An old pod that is not available counts, too: replacing it must not cost another node its pod. */
function urgencyOf({ sites, starting, missing }: UpdateWindow): Urgency {
  const found: Urgency = { urgent: [], unavailable: starting + missing };
  for (const { fresh, old } of sites) {
    const [newest] = fresh;
    const [oldest] = old;
    const single = fresh.length + old.length === 1;
    const daemon = newest ?? oldest;
    if (!single || daemon === undefined || daemon.preparing || !daemon.available) found.unavailable++;
    if (!single || daemon === undefined || daemon.preparing || daemon.updated) continue;
    if (!daemon.available) found.urgent.push(daemon);
  }
  return found;
}

/** Whether the pod waits for an image that its node is still pulling; a pod that is recreated waits for none. */
function isHeld(decisions: Decisions, daemon: Daemon, { eligible, wait }: Target): boolean {
  if (wait === undefined || !decisions.isFree(daemon)) return false;
  const change = changeOf(daemon, eligible);
  return change !== undefined && wait.holds(daemon.pod, change.images);
}

/** Rule 29. */
function updateDaemon(
  state: DaemonSetState,
  decisions: DaemonSetDecisions,
  daemon: Daemon,
  { eligible, wait }: Target,
): void {
  if (!decisions.isFree(daemon)) return;
  const change = changeOf(daemon, eligible);
  if (change === undefined) {
    planDeletion(state, decisions, daemon);
    return;
  }
  if (decisions.room.update <= 0) return;
  decisions.room.update--;
  const { pod } = daemon;
  decisions.takeAll(wait?.reported(pod, change.images) ?? []);
  const { hash } = state;
  const target = {
    revision: hash,
    labels: { [REVISION_LABEL]: hash },
    graceSeconds: 0,
    lifecycle: false,
    lean: state.strategy.lean,
  };
  const write = startInPlace(pod, withUnissued(pod, change), target, state.options, state.now);
  const action = writePod(pod, write, "update", {
    succeeded: {
      reason: "SuccessfulUpdatePodInPlace",
      message: `successfully update pod ${pod.name} in-place`,
    },
    failed: {
      reason: "FailedUpdatePodInPlace",
      message: `failed to update pod ${pod.name} in-place(revision ${hash})`,
    },
  });
  decisions.take(action);
}

/** Undefined for a pod that is recreated: one without the readiness gate, too (rule 36). */
function changeOf({ pod }: Daemon, eligible: Eligibilities | undefined): InPlaceChange | undefined {
  return hasGate(pod, IN_PLACE_READY) ? eligible?.of(pod).change : undefined;
}

function eligibility(state: DaemonSetState, from: string): Eligibility {
  const old = state.observed.revisions.find((revision) => hashOf(revision) === from);
  const before = old === undefined ? undefined : templatesOf(old.data);
  const after = templatesOf(state.update.data);
  if (before === undefined || after === undefined) {
    return { change: undefined, reason: `revision ${from || "(none)"} of the pod is not known` };
  }
  const written = inPlaceChange(before.written, after.written, state.options);
  if (written.change !== undefined) return written;
  // Of a set that was taken over, one revision may have its defaults written out and the other not.
  return inPlaceChange(before.defaulted, after.defaulted, state.options);
}

function reportHeld(
  { observed }: DaemonSetState,
  decisions: Decisions,
  { heldByPartition, heldBySelector }: UpdateWindow,
): void {
  if (heldByPartition > 0) {
    const { partition } = observed.set.spec.updateStrategy?.rollingUpdate ?? {};
    decisions.wait({
      reason: "Partition",
      message: `${counted(heldByPartition, "node keeps", "nodes keep")} an old pod by partition ${partition}`,
      until: "partition is lowered",
    });
  }
  if (heldBySelector > 0) {
    decisions.wait({
      reason: "NodeSelector",
      message: `${counted(heldBySelector, "node keeps", "nodes keep")} an old pod: rollingUpdate.selector does not match them`,
      until: "the selector matches them or is removed",
    });
  }
}
