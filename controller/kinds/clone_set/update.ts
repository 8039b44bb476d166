/** Bringing pods to the target revision. Spec: cloneset 4.7, rules 41 to 47, 4.8 rules 54, 55. */
import { counted } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import type { Decisions } from "../../rollout/decisions.ts";
import type { ImageWait } from "../../rollout/images/image_wait.ts";
import type { Eligibility, InPlaceChange } from "../../rollout/in_place/change.ts";
import { Eligibilities, eligibilityOf } from "../../rollout/in_place/eligibility.ts";
import { graceState } from "../../rollout/in_place/state.ts";
import { withUnissued } from "../../rollout/in_place/unissued.ts";
import { startInPlace } from "../../rollout/in_place/update.ts";
import { beforeUpdate } from "../../rollout/lifecycle/hooks.ts";
import { budgetText } from "../../rollout/order/budget_text.ts";
import { ByActivity } from "../../rollout/order/order.ts";
import { isActive, SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import { membersOf } from "../../rollout/pods/pod_view.ts";
import { type Revision, sameRevision } from "../../rollout/revisions/revisions.ts";
import type { PodPatchAction, Waiting } from "../../rollout/writes/actions.ts";
import { patchPod, writePod } from "../../rollout/writes/pod_actions.ts";
import { isUnderWay, updateOrder } from "./order.ts";
import { imageWaitOf } from "./pre_download.ts";
import { revisionLabels } from "./scale.ts";
import type { CloneSetState } from "./state.ts";
import { CLAIM_HASH, type CloneSetMember, REVISION_LABEL } from "./strategy.ts";

/** Where pods go in this pass. */
interface Target {
  readonly revision: Revision;
  /** Undefined where no pod waits for an image. */
  readonly wait: ImageWait | undefined;
  /** In place, by where pods come from. */
  readonly eligible: Eligibilities;
}

export function planUpdate(state: CloneSetState, decisions: Decisions): void {
  const { numbers } = state;
  if (numbers.update === 0) return;
  const target = targetOf(state);
  const { wait } = target;
  const candidates = candidatesFor(state, target);
  const wanted = Math.min(candidates.count, Math.abs(numbers.update));
  const room = roomOf(state, target.revision);
  const taken = withinBudget(candidates, wanted, room, state);
  if (taken.length < wanted) decisions.wait(budgetWaiting(state, wanted - taken.length, taken));
  for (const member of taken) {
    if (!decisions.isFree(member) || member.specified) continue;
    updateMember(state, decisions, member, target);
    if (wait !== undefined && decisions.isTaken(member.pod))
      decisions.takeAll(wait.reported(member.pod, imagesFor(state, member, target)));
  }
  wait?.report(decisions);
}

/** Forward, or, above the partition, back. */
function targetOf(state: CloneSetState): Target {
  const isForward = state.numbers.update > 0;
  const revision = isForward ? state.update : state.current;
  const eligible = new Eligibilities((from) => eligibility(state, from, revision));
  return { revision, eligible, wait: isForward ? imageWaitOf(state) : undefined };
}

/** Images by container that an update in place would bring; none for pods that are recreated. */
function imagesFor(
  state: CloneSetState,
  { pod }: CloneSetMember,
  target: Target,
): Readonly<Record<string, string>> {
  if (state.strategy.policy === "ReCreate") return {};
  return target.eligible.of(pod).change?.images ?? {};
}

interface Candidates {
  readonly count: number;
  /** Of them. */
  readonly unavailable: number;
  readonly members: Iterable<CloneSetMember>;
}

/** Who may be updated to the target. Pods that wait for an image let those go first whose nodes have it. */
function candidatesFor(state: CloneSetState, target: Target): Candidates {
  const { pods, update } = state;
  const { candidates } = pods.groups;
  const { revision, wait } = target;
  if (revision === update && wait === undefined) {
    const unavailable = pods.count("unavailable candidate");
    return { count: candidates.size, unavailable, members: candidates };
  }
  const members: CloneSetMember[] = [];
  let unavailable = 0;
  for (const member of revision === update ? candidates : others(state, revision)) {
    if (wait?.holds(member.pod, imagesFor(state, member, target))) continue;
    members.push(member);
    if (!member.available) unavailable++;
  }
  return { count: members.length, unavailable, members };
}

/** Those above the partition that go back: as the group of candidates, for the current revision. */
function others({ pods }: CloneSetState, target: Revision): Iterable<CloneSetMember> {
  const going = [...membersOf(pods.every())].filter((member) => {
    if (isAt(member, target) || member.state === "PreparingDelete") return false;
    return graceState(member.pod).value === undefined;
  });
  return new ByActivity(isUnderWay, going);
}

function isAt(member: CloneSetMember, target: Revision): boolean {
  return sameRevision(member.pod.labels[REVISION_LABEL] ?? "", target.name);
}

interface Room {
  /** How many pods may be taken in all, and how many of them may be available ones. */
  atTarget: number;
  available: number;
}

/**
 * Pods that are missing use up the budget, too. Where they may not be made before others are available, one that is out of service
 * is updated all the same: else the two would wait for each other.
 */
function roomOf({ pods, update, numbers }: CloneSetState, target: Revision): Room {
  const { missing, createLimit, updateBudget } = numbers;
  const { unavailable } = pods.groups;
  const budget = missing > 0 && createLimit === 0 ? Math.max(1, updateBudget) : updateBudget;
  const atTarget =
    target === update
      ? pods.count("unavailable at the update revision")
      : [...membersOf(pods.entries(unavailable))].filter((member) => isAt(member, target)).length;
  return { atTarget: budget - atTarget, available: updateBudget - unavailable.size };
}

/**
 * Rule 43: the walk stops when unavailable pods at the target and those taken reach the budget; an
 * available pod also needs room beside all that are unavailable now, and pods behind one without room wait for
 * their turn, unless the set asks for `healFirst`. Nothing is read of the order beyond the first
 * `wanted`, and nothing once no candidate could be taken any more.
 *
 * A marked pod claims its room ahead of its turn. One that finds none may be waiting for a pod that only the update heals, so it
 * ends the walk at its own place in the order, not before.
 */
function withinBudget(
  candidates: Candidates,
  wanted: number,
  room: Room,
  state: CloneSetState,
): CloneSetMember[] {
  const taken: CloneSetMember[] = [];
  let availableTaken = 0;
  let unavailableLeft = candidates.unavailable;
  // Most passes of a rollout find no room: the order is worked out when there is some.
  if (room.atTarget <= 0 || (room.available <= 0 && unavailableLeft === 0)) return taken;
  const { healFirst } = state.strategy;
  /** Marked pods that came ahead of their turn: whether they had room. */
  const ahead = new Map<CloneSetMember, boolean>();
  let read = 0;
  for (const member of updateOrder(candidates.members, () => activePods(state), state.strategy)) {
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

function activePods({ pods }: CloneSetState): Pod[] {
  const { toRelease } = pods.groups;
  return pods.pods().filter((pod) => isActive(pod) && !toRelease.has(pod.name));
}

/** `taken` go out of service by this plan. */
function budgetWaiting(state: CloneSetState, count: number, taken: readonly CloneSetMember[]): Waiting {
  const { unavailable } = state.pods.groups;
  const next = taken.filter(({ pod }) => !unavailable.has(pod.name)).map(({ pod }) => pod.name);
  const { maxUnavailable } = state.strategy.limits;
  return {
    reason: "Budget",
    message: `${counted(count, "pod waits", "pods wait")}: ${budgetText(maxUnavailable, unavailable.size, next.length)}`,
    until: "these pods become available",
    pods: [...unavailable.first(10), ...next].slice(0, 10),
  };
}

function updateMember(
  state: CloneSetState,
  decisions: Decisions,
  member: CloneSetMember,
  target: Target,
): void {
  const { policy } = state.strategy;
  const { pod } = member;
  const eligible = policy === "ReCreate" ? undefined : target.eligible.of(pod);
  if (eligible?.change !== undefined) {
    updateInPlace(state, decisions, member, { revision: target.revision, change: eligible.change });
  } else if (eligible !== undefined && policy === "InPlaceOnly") {
    decisions.fail(
      "update",
      `find Pod ${pod.name} update strategy is InPlaceOnly but can not update in-place`,
    );
    decisions.wait({
      reason: "InPlaceOnly",
      message: `pod ${pod.name} can not be updated in place: ${eligible.reason}`,
      until: "the template changes to one that is possible in place, or the policy allows recreation",
      pods: [pod.name],
    });
  } else {
    decisions.take(recreate(state, pod, target.revision));
  }
}

/** Marks the pod; the deletion step takes it from there within its own budget (rule 44). */
function recreate(state: CloneSetState, pod: Pod, target: Revision): PodPatchAction {
  const { name } = pod;
  return patchPod(pod, { labels: { [SPECIFIED_DELETE]: "true" } }, state.now, "update", {
    disrupts: true,
    succeeded: {
      reason: "SuccessfulUpdatePodReCreate",
      message: `successfully patch pod ${name} specified-delete for update(revision ${target.name})`,
    },
    failed: {
      reason: "FailedUpdatePodReCreate",
      message: `failed to patch pod specified-delete ${name} for update(revision ${target.name})`,
    },
  });
}

function eligibility(state: CloneSetState, from: string, target: Revision): Eligibility {
  const old = state.observed.revisions.find((revision) => sameRevision(revision.name, from));
  const claims = [old, target.stored].map((revision) => revision?.annotations[CLAIM_HASH]);
  const changedClaims = claims[0] !== undefined && claims[1] !== undefined && claims[0] !== claims[1];
  return state.options.recreateOnClaimChange && state.strategy.policy !== "InPlaceOnly" && changedClaims
    ? { change: undefined, reason: "the claim templates changed" }
    : eligibilityOf(from, old, target, state.options);
}

function updateInPlace(
  state: CloneSetState,
  decisions: Decisions,
  member: CloneSetMember,
  { revision, change }: { readonly revision: Revision; readonly change: InPlaceChange },
): void {
  const { pod } = member;
  const before = beforeUpdate(member, state.strategy.lifecycle?.inPlaceUpdate, state.now);
  if (before !== undefined) {
    if ("action" in before) decisions.take(before.action);
    else decisions.wait(before.waiting);
    return;
  }
  const write = startInPlace(
    pod,
    withUnissued(pod, change),
    {
      revision: revision.name,
      labels: revisionLabels(state, revision),
      graceSeconds: state.strategy.graceSeconds,
      lean: state.strategy.lean,
      lifecycle: true,
    },
    state.options,
    state.now,
  );
  const action = writePod(pod, write, "update", {
    disrupts: true,
    succeeded: {
      reason: "SuccessfulUpdatePodInPlace",
      message: `successfully update pod ${pod.name} in-place(revision ${revision.name})`,
    },
    failed: {
      reason: "FailedUpdatePodInPlace",
      message: `failed to update pod ${pod.name} in-place(revision ${revision.name})`,
    },
  });
  decisions.take(action);
}
