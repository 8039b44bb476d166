/** Bringing pods to the target revision. Spec: cloneset 4.7, rules 41 to 47, 4.8 rules 54, 55. */
import { counted } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import type { ImageWait } from "../../rollout/images/image_wait.ts";
import type { Eligibility } from "../../rollout/in_place/change.ts";
import { eligibilityOf } from "../../rollout/in_place/eligibility.ts";
import { graceState } from "../../rollout/in_place/state.ts";
import { withUnissued } from "../../rollout/in_place/unissued.ts";
import { startInPlace } from "../../rollout/in_place/update.ts";
import { beforeUpdate } from "../../rollout/lifecycle/hooks.ts";
import { budgetText } from "../../rollout/order/budget_text.ts";
import { ByActivity } from "../../rollout/order/order.ts";
import { isActive, SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import { type Revision, sameRevision } from "../../rollout/revisions/revisions.ts";
import type { Action, Waiting } from "../../rollout/writes/actions.ts";
import { patchPod } from "../../rollout/writes/pod_actions.ts";
import { CLAIM_HASH, type Member, REVISION_LABEL } from "./observe.ts";
import { isUnderWay, membersOf, updateOrder } from "./order.ts";
import type { Pass } from "./pass.ts";
import { imageWaitOf } from "./pre_download.ts";
import { revisionLabels } from "./scale.ts";

interface Updates {
  actions: Action[];
  waiting: Waiting[];
  /** Text of the condition FailedUpdate; undefined when every chosen pod can be updated. */
  failure: string | undefined;
  requeueAfterMs: number | undefined;
}

/** `touched`: UIDs of pods that get another action in this pass. */
export function planUpdate(pass: Pass, touched: ReadonlySet<string>): Updates {
  const { numbers } = pass;
  const updates: Updates = { actions: [], waiting: [], failure: undefined, requeueAfterMs: undefined };
  if (numbers.update === 0) return updates;
  const target = numbers.update > 0 ? pass.update : pass.current;
  const wait = numbers.update > 0 ? imageWaitOf(pass) : undefined;
  const candidates = candidatesFor(pass, target, wait);
  const wanted = Math.min(candidates.count, Math.abs(numbers.update));
  const room = roomOf(pass, target, numbers.updateBudget);
  const taken = withinBudget(candidates, wanted, room, pass);
  if (taken.length < wanted) updates.waiting.push(budgetWaiting(pass, wanted - taken.length, taken));
  for (const member of taken) {
    if (member.busy || member.specified || touched.has(member.pod.uid)) continue;
    const planned = updates.actions.length;
    updateMember(pass, member, target, updates);
    if (wait !== undefined && updates.actions.length > planned) {
      updates.actions.push(...wait.reported(member.pod, imagesFor(pass, member, target)));
    }
  }
  updates.waiting.push(...(wait?.waiting() ?? []));
  updates.requeueAfterMs = wait?.requeueAfterMs;
  return updates;
}

/** Images by container that an update in place would bring; none for pods that are made anew. */
function imagesFor(pass: Pass, member: Member, target: Revision): Readonly<Record<string, string>> {
  if (pass.strategy.policy === "ReCreate") return {};
  return eligibility(pass, member, target).change?.images ?? {};
}

interface Candidates {
  readonly count: number;
  /** Of them. */
  readonly unavailable: number;
  readonly members: Iterable<Member>;
}

/** Who may be updated to the target. Whoever waits for an image lets those go first whose nodes have it. */
function candidatesFor(pass: Pass, target: Revision, wait: ImageWait | undefined): Candidates {
  const { pods, update } = pass;
  const { candidates } = pods.groups;
  if (target === update && wait === undefined) {
    const unavailable = pods.count("unavailable candidate");
    return { count: candidates.size, unavailable, members: candidates };
  }
  const members: Member[] = [];
  let unavailable = 0;
  for (const member of target === update ? candidates : others(pass, target)) {
    if (wait?.holds(member.pod, imagesFor(pass, member, target))) continue;
    members.push(member);
    if (!member.available) unavailable++;
  }
  return { count: members.length, unavailable, members };
}

/** Those above the partition that go back: as the group of candidates, for the current revision. */
function others({ pods }: Pass, target: Revision): Iterable<Member> {
  const going = [...membersOf(pods.every())].filter((member) => {
    if (isAt(member, target) || member.state === "PreparingDelete") return false;
    return graceState(member.pod).value === undefined;
  });
  return new ByActivity(isUnderWay, going);
}

function isAt(member: Member, target: Revision): boolean {
  return sameRevision(member.pod.labels[REVISION_LABEL] ?? "", target.name);
}

interface Room {
  /** How many pods may be taken in all, and how many of them may be available ones. */
  atTarget: number;
  available: number;
}

function roomOf({ pods, update }: Pass, target: Revision, budget: number): Room {
  const { unavailable } = pods.groups;
  const atTarget =
    target === update
      ? pods.count("unavailable at the update revision")
      : [...membersOf(pods.entries(unavailable))].filter((member) => isAt(member, target)).length;
  return { atTarget: budget - atTarget, available: budget - unavailable.size };
}

/**
 * Rule 43: the walk stops when unavailable pods at the target and those taken reach the budget; an
 * available pod also needs room beside all that are unavailable now, and whoever comes after one without room waits for
 * its turn, unless the set asks for `healFirst`. Nothing is read of the order beyond the first
 * `wanted`, and nothing once no candidate could be taken any more.
 *
 * A marked pod claims its room ahead of its turn. One that finds none may be waiting for a pod that only the update heals, so it
 * ends the walk at its own place in the order, not before.
 */
function withinBudget(candidates: Candidates, wanted: number, room: Room, pass: Pass): Member[] {
  const taken: Member[] = [];
  let availableTaken = 0;
  let unavailableLeft = candidates.unavailable;
  // Most passes of a rollout find no room: the order is worked out when there is some.
  if (room.atTarget <= 0 || (room.available <= 0 && unavailableLeft === 0)) return taken;
  const { healFirst } = pass.strategy;
  /** Marked pods that came ahead of their turn: whether they had room. */
  const ahead = new Map<Member, boolean>();
  let read = 0;
  for (const member of updateOrder(candidates.members, () => activePods(pass), pass.strategy)) {
    const hadRoom = ahead.get(member);
    if (hadRoom !== undefined) {
      if (hadRoom || healFirst) continue;
      break;
    }
    if (read++ >= wanted || taken.length >= room.atTarget) break;
    const hasRoom = !member.available || availableTaken < room.available;
    if (member.specified) ahead.set(member, hasRoom);
    if (!hasRoom) {
      if (healFirst || member.specified) continue;
      break;
    }
    if (member.available) availableTaken++;
    else unavailableLeft--;
    taken.push(member);
    if (unavailableLeft === 0 && availableTaken >= room.available) break;
  }
  return taken;
}

function activePods({ pods }: Pass): Pod[] {
  const { toRelease } = pods.groups;
  return pods.pods().filter((pod) => isActive(pod) && !toRelease.has(pod.name));
}

/** `taken` go out of service by this plan. */
function budgetWaiting(pass: Pass, count: number, taken: readonly Member[]): Waiting {
  const { unavailable } = pass.pods.groups;
  const next = taken.filter(({ pod }) => !unavailable.has(pod.name)).map(({ pod }) => pod.name);
  const { maxUnavailable } = pass.strategy.limits;
  return {
    reason: "Budget",
    message: `${counted(count, "pod waits", "pods wait")}: ${budgetText(maxUnavailable, unavailable.size, next.length)}`,
    until: "these pods become available",
    pods: [...unavailable.first(10), ...next].slice(0, 10),
  };
}

function updateMember(pass: Pass, member: Member, target: Revision, updates: Updates): void {
  if (pass.strategy.policy === "ReCreate") {
    updates.actions.push(recreate(pass, member, target));
    return;
  }
  const eligible = eligibility(pass, member, target);
  if (eligible.change !== undefined) {
    updateInPlace(pass, member, target, eligible, updates);
  } else if (pass.strategy.policy === "InPlaceOnly") {
    updates.failure ??= `find Pod ${member.pod.name} update strategy is InPlaceOnly but can not update in-place`;
    updates.waiting.push({
      reason: "InPlaceOnly",
      message: `pod ${member.pod.name} can not be updated in place: ${eligible.reason}`,
      until: "the template changes to one that is possible in place, or the policy allows recreation",
      pods: [member.pod.name],
    });
  } else {
    updates.actions.push(recreate(pass, member, target));
  }
}

/** Marks the pod; the deletion step takes it from there within its own budget (rule 44). */
function recreate(pass: Pass, member: Member, target: Revision): Action {
  const { name } = member.pod;
  return {
    ...patchPod(member.pod, { labels: { [SPECIFIED_DELETE]: "true" } }, pass.now, "update"),
    disrupts: true,
    succeeded: {
      type: "Normal",
      reason: "SuccessfulUpdatePodReCreate",
      message: `successfully patch pod ${name} specified-delete for update(revision ${target.name})`,
    },
    failed: {
      reason: "FailedUpdatePodReCreate",
      message: `failed to patch pod specified-delete ${name} for update(revision ${target.name})`,
    },
  };
}

/** Template to template, once a pair of revisions in a pass. */
function eligibility(pass: Pass, member: Member, target: Revision): Eligibility {
  const from = member.pod.labels[REVISION_LABEL] ?? "";
  const known = pass.eligible.get(from);
  if (known !== undefined) return known;
  const computed = computeEligibility(pass, from, target);
  pass.eligible.set(from, computed);
  return computed;
}

function computeEligibility(pass: Pass, from: string, target: Revision): Eligibility {
  const old = pass.seen.revisions.find((revision) => sameRevision(revision.name, from));
  const claims = [old, target.stored].map((revision) => revision?.annotations[CLAIM_HASH]);
  const changedClaims = claims[0] !== undefined && claims[1] !== undefined && claims[0] !== claims[1];
  return pass.options.recreateOnClaimChange && pass.strategy.policy !== "InPlaceOnly" && changedClaims
    ? { change: undefined, reason: "the claim templates changed" }
    : eligibilityOf(from, old, target, pass.options);
}

function updateInPlace(
  pass: Pass,
  member: Member,
  target: Revision,
  eligible: { change: NonNullable<Eligibility["change"]> },
  updates: Updates,
): void {
  const { pod } = member;
  const before = beforeUpdate(member, pass.strategy.lifecycle?.inPlaceUpdate, pass.now);
  if (before !== undefined) {
    if ("action" in before) updates.actions.push(before.action);
    else updates.waiting.push(before.waiting);
    return;
  }
  const write = startInPlace(
    pod,
    withUnissued(pod, eligible.change),
    {
      revision: target.name,
      labels: revisionLabels(pass, target),
      graceSeconds: pass.strategy.graceSeconds,
      lean: pass.strategy.lean,
      lifecycle: true,
    },
    pass.options,
    pass.now,
  );
  updates.actions.push({
    type: "patch pod",
    pod,
    write,
    concern: "update",
    disrupts: true,
    succeeded: {
      type: "Normal",
      reason: "SuccessfulUpdatePodInPlace",
      message: `successfully update pod ${pod.name} in-place(revision ${target.name})`,
    },
    failed: {
      reason: "FailedUpdatePodInPlace",
      message: `failed to update pod ${pod.name} in-place(revision ${target.name})`,
    },
  });
}
