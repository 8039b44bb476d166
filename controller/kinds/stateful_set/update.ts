/** Bringing pods to the update revision. Spec: statefulset 4.5 to 4.8, 4.11. */

import type { Decisions } from "../../rollout/decisions.ts";
import type { ImageWait } from "../../rollout/images/image_wait.ts";
import type { Eligibility, InPlaceChange } from "../../rollout/in_place/change.ts";
import { Eligibilities, eligibilityOf } from "../../rollout/in_place/eligibility.ts";
import { withUnissued } from "../../rollout/in_place/unissued.ts";
import { startInPlace } from "../../rollout/in_place/update.ts";
import { beforeUpdate } from "../../rollout/lifecycle/hooks.ts";
import { isAsked, STATE_LABEL } from "../../rollout/lifecycle/lifecycle.ts";
import { budgetText } from "../../rollout/order/budget_text.ts";
import { membersOf } from "../../rollout/pods/pod_view.ts";
import { writePod } from "../../rollout/writes/pod_actions.ts";
import { planClaimGrowth } from "./claim_growth.ts";
import type { Reach } from "./order.ts";
import { imageWaitOf } from "./pre_download.ts";
import { planDeletion } from "./scale.ts";
import type { StatefulSetState } from "./state.ts";
import { REVISION_LABEL, type StatefulSetMember } from "./strategy.ts";
import { Unavailable } from "./unavailable.ts";

/** How pods are updated in this pass. */
interface Target {
  readonly eligible: Eligibilities;
  /** Undefined where no pod waits for an image. */
  readonly wait: ImageWait | undefined;
}

/**
 * One phase of the rolling update. With OrderedReady and an incomplete window only pods that are on their way already
 * may go on, specified ones among them: a hook that was released must not wait for the pod that it holds.
 */
export function planUpdate(state: StatefulSetState, decisions: Decisions, complete: boolean): void {
  const eligible = new Eligibilities((from) => eligibility(state, from));
  const target = { eligible, wait: imageWaitOf(state) };
  updateInOrder(state, decisions, complete, target);
  target.wait?.report(decisions);
}

function updateInOrder(
  state: StatefulSetState,
  decisions: Decisions,
  complete: boolean,
  target: Target,
): void {
  const unavailable = new Unavailable(state.pods.groups.unavailable);
  planSpecified(state, decisions, complete, unavailable);
  for (const member of candidates(state.reach, complete)) {
    const grown = planClaimGrowth(state, decisions, member, unavailable);
    if (grown === "stop") return;
    if (grown === "wait" || member.updated) continue;
    if (unavailable.size >= state.strategy.maxUnavailable && !unavailable.has(member.pod.name)) {
      waitForBudget(state, decisions, member, unavailable);
      return;
    }
    // A pod with a write under way is decided on when it has ended; nobody may go before it.
    if (!decisions.isFree(member)) {
      if (unavailable.has(member.pod.name)) continue;
      return;
    }
    if (!updateMember(state, decisions, member, target)) return;
    unavailable.add(member.pod.name);
  }
}

/** Those on their way come first: they are out of service, and must not wait for a pod that waits for them. */
function* candidates(reach: Reach, complete: boolean): Generator<StatefulSetMember> {
  yield* reach.begun();
  if (!complete) return;
  for (const member of reach.order()) if (!isAsked(member.state)) yield member;
}

/** Rule 31: from the top; those without room are passed over. */
function planSpecified(
  state: StatefulSetState,
  decisions: Decisions,
  complete: boolean,
  unavailable: Unavailable,
): void {
  for (const member of membersOf(state.pods.entries(state.pods.groups.specified.descending()))) {
    const { name } = member.pod;
    if (!complete && !isAsked(member.state)) continue;
    if (unavailable.size >= state.strategy.maxUnavailable && !unavailable.has(name)) continue;
    if (!decisions.isFree(member)) continue;
    planDeletion(state, decisions, member);
    unavailable.add(name);
  }
}

function waitForBudget(
  state: StatefulSetState,
  decisions: Decisions,
  member: StatefulSetMember,
  unavailable: Unavailable,
): void {
  decisions.wait({
    reason: "Budget",
    message: `pod ${member.pod.name} and those after it wait: ${budgetText(state.strategy.maxUnavailable, unavailable.before, unavailable.added)}`,
    until: "these pods become available",
    pods: unavailable.first(10),
  });
}

/** False when the pass cannot go on. */
function updateMember(
  state: StatefulSetState,
  decisions: Decisions,
  member: StatefulSetMember,
  target: Target,
): boolean {
  if (state.strategy.policy === "ReCreate" || member.state === "PreparingDelete") {
    planDeletion(state, decisions, member);
    return true;
  }
  const eligible = target.eligible.of(member.pod);
  if (eligible.change !== undefined) {
    const { images } = eligible.change;
    if (target.wait?.holds(member.pod, images)) return false;
    decisions.takeAll(target.wait?.reported(member.pod, images) ?? []);
    updateInPlace(state, decisions, member, eligible.change);
    return true;
  }
  if (state.strategy.policy === "InPlaceIfPossible") {
    planDeletion(state, decisions, member);
    return true;
  }
  const words = `find strategy is InPlaceOnly but Pod ${member.pod.name} can not update in-place`;
  decisions.fail("update", `StatefulPodControl failed to update Pod error: ${words}`);
  decisions.wait({
    reason: "InPlaceOnly",
    message: `${words}: ${eligible.reason}`,
    until: "the template changes to one that is possible in place, or the policy allows recreation",
    pods: [member.pod.name],
  });
  return false;
}

/** Of pods with the revision label `from`. Rule 26. */
function eligibility(state: StatefulSetState, from: string): Eligibility {
  const old = state.observed.revisions.find((revision) => revision.name === from);
  return eligibilityOf(from, old, state.update, state.options);
}

function updateInPlace(
  state: StatefulSetState,
  decisions: Decisions,
  member: StatefulSetMember,
  change: InPlaceChange,
): void {
  const { pod } = member;
  const before = beforeUpdate(member, state.strategy.lifecycle?.inPlaceUpdate, state.now);
  if (before !== undefined) {
    if ("action" in before) decisions.take(before.action);
    else decisions.wait(before.waiting);
    return;
  }
  const { update } = state;
  const target = {
    revision: update.name,
    labels: { [REVISION_LABEL]: update.name },
    graceSeconds: state.strategy.graceSeconds,
    lean: state.strategy.lean,
    lifecycle: STATE_LABEL in pod.labels,
  };
  const write = startInPlace(pod, withUnissued(pod, change), target, state.options, state.now);
  const action = writePod(pod, write, "update", {
    succeeded: {
      reason: "SuccessfulUpdatePodInPlace",
      message: `successfully update pod ${pod.name} in-place(revision ${update.name})`,
    },
    failed: {
      reason: "FailedUpdatePodInPlace",
      message: `failed to update pod ${pod.name} in-place(revision ${update.name})`,
      condition: "StatefulPodControl failed to update Pod error",
    },
  });
  decisions.take(action);
}
