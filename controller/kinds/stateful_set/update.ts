/** Bringing pods to the update revision. Spec: statefulset 4.5 to 4.8, 4.11. */

import type { ImageWait } from "../../rollout/images/image_wait.ts";
import type { Eligibility } from "../../rollout/in_place/change.ts";
import { eligibilityOf } from "../../rollout/in_place/eligibility.ts";
import { withUnissued } from "../../rollout/in_place/unissued.ts";
import { startInPlace } from "../../rollout/in_place/update.ts";
import { beforeUpdate } from "../../rollout/lifecycle/hooks.ts";
import { STATE_LABEL } from "../../rollout/lifecycle/lifecycle.ts";
import { budgetText } from "../../rollout/order/budget_text.ts";
import { planClaimGrowth } from "./claim_growth.ts";
import { type Member, REVISION_LABEL } from "./observe.ts";
import { membersOf } from "./order.ts";
import type { Pass } from "./pass.ts";
import { imageWaitOf } from "./pre_download.ts";
import { planDeletion } from "./scale.ts";
import { Unavailable } from "./unavailable.ts";

/**
 * One phase of the rolling update. With OrderedReady and an incomplete window only pods that are on their way already
 * may go on: a hook that was released must not wait for the pod that it holds.
 */
export function planUpdate(pass: Pass, complete: boolean): void {
  const wait = imageWaitOf(pass);
  updateInOrder(pass, complete, wait);
  if (wait === undefined) return;
  pass.decided.waiting.push(...wait.waiting());
  pass.decided.requeueAfter(wait.requeueAfterMs);
}

function updateInOrder(pass: Pass, complete: boolean, wait: ImageWait | undefined): void {
  const unavailable = new Unavailable(pass.pods.groups.unavailable);
  if (complete) planSpecified(pass, unavailable);
  for (const member of complete ? pass.reach.order : pass.reach.begun) {
    const grown = planClaimGrowth(pass, member, unavailable);
    if (grown === "stop") return;
    if (grown === "wait" || member.updated) continue;
    if (unavailable.size >= pass.strategy.maxUnavailable && !unavailable.has(member.pod.name)) {
      waitForBudget(pass, member, unavailable);
      return;
    }
    // A pod with a write under way is decided on when it has ended; nobody may go before it.
    if (!pass.decided.isFree(member)) {
      if (unavailable.has(member.pod.name)) continue;
      return;
    }
    if (!updateMember(pass, member, wait)) return;
    unavailable.add(member.pod.name);
  }
}

/** Rule 31: from the top; those without room are passed over. */
function planSpecified(pass: Pass, unavailable: Unavailable): void {
  for (const member of membersOf(pass.pods.entries(pass.pods.groups.specified.descending()))) {
    const { name } = member.pod;
    if (unavailable.size >= pass.strategy.maxUnavailable && !unavailable.has(name)) continue;
    if (!pass.decided.isFree(member)) continue;
    planDeletion(pass, member);
    unavailable.add(name);
  }
}

function waitForBudget(pass: Pass, member: Member, unavailable: Unavailable): void {
  pass.decided.waiting.push({
    reason: "Budget",
    message: `pod ${member.pod.name} and those after it wait: ${budgetText(pass.strategy.maxUnavailable, unavailable.before, unavailable.added)}`,
    until: "these pods become available",
    pods: unavailable.first(10),
  });
}

/** False when the pass cannot go on. */
function updateMember(pass: Pass, member: Member, wait: ImageWait | undefined): boolean {
  if (pass.strategy.policy === "ReCreate" || member.state === "PreparingDelete") {
    planDeletion(pass, member);
    return true;
  }
  const eligible = eligibility(pass, member);
  if (eligible.change !== undefined) {
    const { images } = eligible.change;
    if (wait?.holds(member.pod, images)) return false;
    for (const event of wait?.reported(member.pod, images) ?? []) pass.decided.take(event);
    updateInPlace(pass, member, eligible);
    return true;
  }
  if (pass.strategy.policy === "InPlaceIfPossible") {
    planDeletion(pass, member);
    return true;
  }
  const words = `find strategy is InPlaceOnly but Pod ${member.pod.name} can not update in-place`;
  pass.decided.failure = `StatefulPodControl failed to update Pod error: ${words}`;
  pass.decided.waiting.push({
    reason: "InPlaceOnly",
    message: `${words}: ${eligible.reason}`,
    until: "the template changes to one that is possible in place, or the policy allows recreation",
    pods: [member.pod.name],
  });
  return false;
}

/** Template to template, once a pair of revisions in a pass. Rule 26. */
function eligibility(pass: Pass, member: Member): Eligibility {
  const from = member.pod.labels[REVISION_LABEL] ?? "";
  const known = pass.eligible.get(from);
  if (known !== undefined) return known;
  const old = pass.seen.revisions.find((revision) => revision.name === from);
  const computed = eligibilityOf(from, old, pass.update, pass.options);
  pass.eligible.set(from, computed);
  return computed;
}

function updateInPlace(
  pass: Pass,
  member: Member,
  eligible: { change: NonNullable<Eligibility["change"]> },
): void {
  const { pod } = member;
  const before = beforeUpdate(member, pass.strategy.lifecycle?.inPlaceUpdate, pass.now);
  if (before !== undefined) {
    if ("action" in before) pass.decided.take(before.action);
    else pass.decided.waiting.push(before.waiting);
    return;
  }
  const { update } = pass;
  const target = {
    revision: update.name,
    labels: { [REVISION_LABEL]: update.name },
    graceSeconds: pass.strategy.graceSeconds,
    lean: pass.strategy.lean,
    lifecycle: STATE_LABEL in pod.labels,
  };
  const write = startInPlace(pod, withUnissued(pod, eligible.change), target, pass.options, pass.now);
  pass.decided.take({
    type: "patch pod",
    pod,
    write,
    concern: "update",
    succeeded: {
      type: "Normal",
      reason: "SuccessfulUpdatePodInPlace",
      message: `successfully update pod ${pod.name} in-place(revision ${update.name})`,
    },
    failed: {
      reason: "FailedUpdatePodInPlace",
      message: `failed to update pod ${pod.name} in-place(revision ${update.name})`,
      condition: "StatefulPodControl failed to update Pod error",
    },
  });
}
