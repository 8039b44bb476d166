/** Creating what is missing in the window and deleting what is outside of it. Spec: statefulset 4.3 rule 9, 4.4. */
import { counted } from "../../../kube/core/index.ts";
import type { Decisions } from "../../rollout/decisions.ts";
import { preparingDelete } from "../../rollout/lifecycle/hooks.ts";
import { isAsked, isHooked } from "../../rollout/lifecycle/lifecycle.ts";
import { waitingForHook } from "../../rollout/lifecycle/waiting.ts";
import { conditionOf, untilAvailable } from "../../rollout/pods/pod_state.ts";
import { membersOf } from "../../rollout/pods/pod_view.ts";
import type { Revision } from "../../rollout/revisions/revisions.ts";
import { createClaim } from "../../rollout/writes/claim_actions.ts";
import { deletePod, patchPod } from "../../rollout/writes/pod_actions.ts";
import {
  areClaimsWritten,
  hasWrongOwners,
  missingClaims,
  planClaimOwners,
  tellBlockedClaim,
  waitsForFormerPod,
} from "./claims.ts";
import { createStatefulSetPod, podWords } from "./pod_manifest.ts";
import type { StatefulSetState } from "./state.ts";
import type { StatefulSetMember } from "./strategy.ts";

/**
 * Walks the window upward. True when every pod of it is there and available; with OrderedReady the walk ends at the
 * first that is not (rule 10), and nothing else may happen then.
 */
export function planWindow(state: StatefulSetState, decisions: Decisions): boolean {
  const { strategy, pods } = state;
  const { unhealthy, acting } = pods.groups;
  const { ordered, scaleMaxUnavailable } = strategy;
  const creation = { outdated: pods.count("behind"), room: state.observed.creationRoom };
  const isLimited = ordered || Number.isFinite(scaleMaxUnavailable);
  let unavailable = 0;
  for (const { ordinal, member } of pods.entries(isLimited ? unhealthy : acting)) {
    if (ordinal === undefined) continue;
    if (unavailable >= scaleMaxUnavailable) {
      waitForScaleLimit(state, decisions, ordinal);
      return false;
    }
    if (member === undefined && creation.room <= 0) {
      waitForCreations(decisions);
      return false;
    }
    if (member === undefined) planMissing(state, decisions, ordinal, creation);
    else if (member.finished && !member.terminating) planDeletion(state, decisions, member);
    else if (member.pod.phase === "Pending" && !member.terminating)
      replaceLostClaims(state, decisions, member);
    unavailable++;
    if (!ordered || servesUntilAnswered(state, member)) continue;
    decisions.wait(waitingFor(state, ordinal, member));
    return false;
  }
  return unhealthy.size === 0;
}

/** It waits for its hook. A budget may keep it in service until those after it are there: they do not wait for it. */
function servesUntilAnswered(state: StatefulSetState, member: StatefulSetMember | undefined): boolean {
  if (member === undefined || member.terminating || !isAsked(member.state)) return false;
  return untilAvailable(member.pod, state.strategy.minReadySeconds, state.now) === 0;
}

function waitingFor(state: StatefulSetState, ordinal: number, member: StatefulSetMember | undefined) {
  const pod = `${state.name}-${ordinal}`;
  const what = member === undefined ? "missing" : member.terminating ? "terminating" : unavailability(member);
  return {
    reason: "OrderedReady",
    message: `pod ${pod} is ${what}: everything else waits for it`,
    until: `${pod} is available`,
    pods: [pod],
  };
}

/** A pod without a node says itself what it lacks: its claim is bound elsewhere, no node has room. */
function unavailability({ pod }: StatefulSetMember): string {
  const scheduled = conditionOf(pod, "PodScheduled");
  const isPlaced = scheduled === undefined || scheduled.status === "True" || scheduled.message === "";
  return isPlaced ? "not available" : `not available, for it has no node (${scheduled.message})`;
}

function waitForScaleLimit(state: StatefulSetState, decisions: Decisions, ordinal: number): void {
  const slot = `${state.name}-${ordinal}`;
  const { missing: slots } = state.pods.groups;
  const missing = slots.above(slot) + Number(slots.has(slot));
  if (missing === 0) return;
  decisions.wait({
    reason: "ScaleLimit",
    message: `${counted(missing, "pod is", "pods are")} still to be created: scaleStrategy.maxUnavailable is ${state.strategy.scaleMaxUnavailable}`,
    until: "more pods are available",
  });
}

function waitForCreations(decisions: Decisions): void {
  decisions.wait({
    reason: "Burst",
    message: "more pods are missing than may be created at a time",
    until: "those under way are created",
  });
}

function planMissing(
  state: StatefulSetState,
  decisions: Decisions,
  ordinal: number,
  creation: { outdated: number; room: number },
): void {
  const name = `${state.name}-${ordinal}`;
  if (state.observed.podNamed(name) !== undefined) {
    tellTaken(state, decisions, name);
    return;
  }
  if (waitsForFormerPod(state, decisions, ordinal)) return;
  const { claims, blocked } = missingClaims(state, ordinal);
  if (blocked !== undefined) {
    tellBlockedClaim(state, decisions, ordinal, blocked);
    return;
  }
  const revision = revisionFor(state, ordinal, creation.outdated);
  if (revision.name !== state.update.name) creation.outdated++;
  creation.room--;
  decisions.take(createStatefulSetPod(state, revision, ordinal, claims));
}

/** The API finds out by trying without end; here the set says so in the same words, and once. */
function tellTaken(state: StatefulSetState, decisions: Decisions, name: string): void {
  decisions.wait({
    reason: "NameTaken",
    message: `pod ${name} cannot be created: a pod of that name is not the set's`,
    until: "that pod is gone, or carries the labels of the selector",
    pods: [name],
  });
  if (decisions.failures.scale !== undefined) return;
  const { failed } = podWords(state, "create", name);
  const text = `pods "${name}" already exists, and is not the set's`;
  const condition = `${failed.condition ?? failed.message}: ${text}`;
  decisions.fail("scale", condition);
  const { conditions } = state.observed.set.status ?? {};
  const isReported = conditions?.some(({ message }) => message === condition);
  if (isReported) return;
  const message = `${failed.message}: ${text}`;
  decisions.take({ type: "event", event: { type: "Warning", reason: failed.reason, message } });
}

/** Rule 18. */
function revisionFor(state: StatefulSetState, ordinal: number, outdated: number): Revision {
  const { strategy, current, update } = state;
  if (strategy.onDelete) return update;
  const kept = strategy.unordered === undefined ? (strategy.window.rankOf(ordinal) ?? 0) : outdated;
  return kept < strategy.partition ? current : update;
}

/** A pod that waits for a claim which somebody deleted gets it again; one whose creation is in flight gets its claims with it. */
function replaceLostClaims(state: StatefulSetState, decisions: Decisions, member: StatefulSetMember): void {
  if (member.busy) return;
  for (const claim of missingClaims(state, member.ordinal).claims) {
    decisions.take(createClaim(state.namespace, claim));
  }
}

/** Pods outside of the window. True when there are none left. Rules 11 to 13. */
export function planCondemned(state: StatefulSetState, decisions: Decisions): boolean {
  const { pods } = state;
  const { leaving, condemned } = pods.groups;
  if (!state.strategy.ordered) {
    for (const member of membersOf(pods.entries(leaving.descending())))
      planCondemnedDeletion(state, decisions, member);
    return condemned.size === 0;
  }
  const [highest] = membersOf(pods.entries(condemned.descending()));
  if (highest === undefined) return true;
  if (highest.terminating) {
    decisions.wait({
      reason: "Terminating",
      message: `pod ${highest.pod.name} is still terminating`,
      until: "it is gone",
      pods: [highest.pod.name],
    });
    return false;
  }
  if (!isHealthy(highest) && lowestUnhealthy(state) !== highest) {
    decisions.wait({
      reason: "OrderedReady",
      message: `pod ${highest.pod.name} is not available and not the lowest such pod: scaling in waits`,
      until: `${highest.pod.name} is available`,
      pods: [highest.pod.name],
    });
    return false;
  }
  planCondemnedDeletion(state, decisions, highest);
  return false;
}

function lowestUnhealthy({ pods }: StatefulSetState): StatefulSetMember | undefined {
  for (const member of membersOf(pods.entries(pods.groups.condemned))) if (!isHealthy(member)) return member;
  return undefined;
}

/** A pod that a hook holds before its deletion does not block the next one: it is on its way out by our own doing. */
function isHealthy(member: StatefulSetMember): boolean {
  return !member.terminating && (member.available || (member.ready && member.state === "PreparingDelete"));
}

function planCondemnedDeletion(
  state: StatefulSetState,
  decisions: Decisions,
  member: StatefulSetMember,
): void {
  const bound = planClaimOwners(state, decisions, member);
  if (bound && !member.terminating) planDeletion(state, decisions, member);
}

/** Every deletion of ours passes the preDelete hook (rule 33). */
export function planDeletion(state: StatefulSetState, decisions: Decisions, member: StatefulSetMember): void {
  if (!decisions.isFree(member) || member.terminating) return;
  const hook = state.strategy.lifecycle?.preDelete;
  if (!isHooked(member.pod, hook)) {
    // A claim that was to go with a condemned pod is lost when that pod is wanted again, and deleted before its claim knows.
    if (!hasWrongOwners(state, member) && !areClaimsWritten(state, member))
      decisions.take(deletePod(member.pod, podWords(state, "delete", member.pod.name)));
    return;
  }
  decisions.wait(waitingForHook(member.pod, "preDelete", hook, "off"));
  if (member.state === "PreparingDelete") return;
  const change = preparingDelete(member.pod, hook, state.now);
  decisions.take(patchPod(member.pod, change, state.now, "update"));
}
