/** Bringing pods to the update revision without surge. Spec: daemonset 4.5, 4.7. */

import { counted } from "../../../kube/core/index.ts";
import { type ImageWait, imageWait } from "../../rollout/images/image_wait.ts";
import { type Eligibility, inPlaceChange } from "../../rollout/in_place/change.ts";
import { withUnissued } from "../../rollout/in_place/unissued.ts";
import { startInPlace } from "../../rollout/in_place/update.ts";
import { budgetText } from "../../rollout/order/budget_text.ts";
import { hasGate, IN_PLACE_READY } from "../../rollout/pods/pod_state.ts";
import { type Daemon, REVISION_LABEL } from "./observe.ts";
import { type UpdateWindow, updateWindow } from "./order.ts";
import type { Pass } from "./pass.ts";
import { hashOf, templatesOf } from "./revisions.ts";
import { planDeletion } from "./scale.ts";
import { planSurge } from "./surge.ts";

export function planUpdate(pass: Pass): void {
  const { strategy, decided } = pass;
  const window = updateWindow(pass.open, pass.pods, strategy, pass.options);
  reportHeld(pass, window.heldByPartition, window.heldBySelector);
  if (strategy.surges && strategy.maxSurge > 0) {
    planSurge(pass, window);
    return;
  }
  const { urgent, unavailable } = urgencyOf(window);
  const wait = strategy.inPlace ? imageWait(pass, () => true) : undefined;
  for (const daemon of urgent) if (!isHeld(pass, daemon, wait)) updateDaemon(pass, daemon, wait);
  const room = Math.max(0, strategy.maxUnavailable - unavailable);
  const { left, taken } = updateDue(pass, window, room, wait);
  decided.waiting.push(...(wait?.waiting() ?? []));
  decided.requeueAfter(wait?.requeueAfterMs);
  if (left === 0) return;
  decided.waiting.push({
    reason: "Budget",
    message: `${counted(left, "pod waits", "pods wait")}: ${budgetText(strategy.maxUnavailable, unavailable, taken)}`,
    until: "these pods become available",
  });
}

interface Updated {
  readonly taken: number;
  readonly left: number;
}

/** Updates old pods that serve, in their order, as many as there is room for. */
function updateDue(pass: Pass, window: UpdateWindow, room: number, wait: ImageWait | undefined): Updated {
  let taken = 0;
  // Without images to wait for, nobody needs to look at those for whom there is no room.
  const isCounted = wait === undefined;
  let left = isCounted ? dueCount(window) : 0;
  if (isCounted && room === 0) return { taken, left };
  for (const { old } of window.due()) {
    const [daemon] = old;
    if (daemon === undefined || !daemon.available) continue;
    // Whoever waits for an image lets those go first whose nodes have it.
    if (isHeld(pass, daemon, wait)) continue;
    if (taken < room) {
      // A pod with a write under way keeps its turn: it is decided on when the write has ended.
      if (pass.decided.isFree(daemon)) updateDaemon(pass, daemon, wait);
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
function isHeld(pass: Pass, daemon: Daemon, wait: ImageWait | undefined): boolean {
  if (wait === undefined || !pass.decided.isFree(daemon)) return false;
  const { change } = eligibility(pass, daemon);
  return change !== undefined && wait.holds(daemon.pod, change.images);
}

/** Rule 29. */
function updateDaemon(pass: Pass, daemon: Daemon, wait: ImageWait | undefined): void {
  if (!pass.decided.isFree(daemon)) return;
  const eligible = pass.strategy.inPlace ? eligibility(pass, daemon) : undefined;
  if (eligible?.change === undefined) {
    planDeletion(pass, daemon);
    return;
  }
  if (pass.decided.room.update <= 0) return;
  pass.decided.room.update--;
  const { pod } = daemon;
  for (const event of wait?.reported(pod, eligible.change.images) ?? []) pass.decided.take(event);
  const { hash } = pass.mark;
  const target = {
    revision: hash,
    labels: { [REVISION_LABEL]: hash },
    graceSeconds: 0,
    lifecycle: false,
    lean: pass.strategy.lean,
  };
  pass.decided.take({
    type: "patch pod",
    pod,
    write: startInPlace(pod, withUnissued(pod, eligible.change), target, pass.options, pass.now),
    concern: "update",
    succeeded: {
      type: "Normal",
      reason: "SuccessfulUpdatePodInPlace",
      message: `successfully update pod ${pod.name} in-place`,
    },
    failed: {
      reason: "FailedUpdatePodInPlace",
      message: `failed to update pod ${pod.name} in-place(revision ${hash})`,
    },
  });
}

/** Template to template, once for each old revision. Rule 36. */
function eligibility(pass: Pass, { pod }: Daemon): Eligibility {
  if (!hasGate(pod, IN_PLACE_READY)) {
    return { change: undefined, reason: `the pod has no readiness gate ${IN_PLACE_READY}` };
  }
  const from = pod.labels[REVISION_LABEL] ?? "";
  const known = pass.eligible.get(from);
  if (known !== undefined) return known;
  const computed = computeEligibility(pass, from);
  pass.eligible.set(from, computed);
  return computed;
}

function computeEligibility(pass: Pass, from: string): Eligibility {
  const old = pass.seen.revisions.find((revision) => hashOf(revision) === from);
  const before = old === undefined ? undefined : templatesOf(old.data);
  const after = templatesOf(pass.update.data);
  if (before === undefined || after === undefined) {
    return { change: undefined, reason: `revision ${from || "(none)"} of the pod is not known` };
  }
  const written = inPlaceChange(before.written, after.written, pass.options);
  if (written.change !== undefined) return written;
  // Of a set that was taken over, one revision may have its defaults written out and the other not.
  return inPlaceChange(before.defaulted, after.defaulted, pass.options);
}

function reportHeld(pass: Pass, byPartition: number, bySelector: number): void {
  const { waiting } = pass.decided;
  if (byPartition > 0) {
    waiting.push({
      reason: "Partition",
      message: `${counted(byPartition, "node keeps", "nodes keep")} an old pod by partition ${pass.strategy.partition}`,
      until: "partition is lowered",
    });
  }
  if (bySelector > 0) {
    waiting.push({
      reason: "NodeSelector",
      message: `${counted(bySelector, "node keeps", "nodes keep")} an old pod: rollingUpdate.selector does not match them`,
      until: "the selector matches them or is removed",
    });
  }
}
