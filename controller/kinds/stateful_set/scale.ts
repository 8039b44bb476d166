/** Creating what is missing in the window and deleting what is outside of it. Spec: statefulset 4.3 rule 9, 4.4. */
import { counted } from "../../../kube/core/index.ts";
import { preparingDelete } from "../../rollout/lifecycle/hooks.ts";
import { isHooked } from "../../rollout/lifecycle/lifecycle.ts";
import { conditionOf } from "../../rollout/pods/pod_state.ts";
import type { Revision } from "../../rollout/revisions/revisions.ts";
import { patchPod, waitingForHook } from "../../rollout/writes/pod_actions.ts";
import { missingClaims, planClaimOwners, tellBlockedClaim, waitsForFormerPod } from "./claims.ts";
import type { Member } from "./observe.ts";
import { membersOf } from "./order.ts";
import { type Pass, podWords } from "./pass.ts";
import { createPod } from "./pod_manifest.ts";

/**
 * Walks the window upward. True when every pod of it is there and available; with OrderedReady the walk ends at the
 * first that is not (rule 10), and nothing else may happen then.
 */
export function planWindow(pass: Pass): boolean {
  const { strategy, decided, pods } = pass;
  const { unhealthy, acting } = pods.groups;
  const { ordered, scaleMaxUnavailable } = strategy;
  const creation = { outdated: pods.count("behind") };
  const isLimited = ordered || Number.isFinite(scaleMaxUnavailable);
  let unavailable = 0;
  for (const { ordinal, member } of pods.entries(isLimited ? unhealthy : acting)) {
    if (ordinal === undefined) continue;
    if (unavailable >= scaleMaxUnavailable) {
      waitForScaleLimit(pass, ordinal);
      return false;
    }
    if (member === undefined) planMissing(pass, ordinal, creation);
    else if (member.finished && !member.terminating) planDeletion(pass, member);
    else if (member.pod.phase === "Pending" && !member.terminating) replaceLostClaims(pass, member);
    unavailable++;
    if (!ordered) continue;
    decided.waiting.push(waitingFor(pass, ordinal, member));
    return false;
  }
  return unhealthy.size === 0;
}

function waitingFor(pass: Pass, ordinal: number, member: Member | undefined) {
  const pod = `${pass.name}-${ordinal}`;
  const what = member === undefined ? "missing" : member.terminating ? "terminating" : unavailability(member);
  return {
    reason: "OrderedReady",
    message: `pod ${pod} is ${what}: everything else waits for it`,
    until: `${pod} is available`,
    pods: [pod],
  };
}

/** A pod without a node says itself what it lacks: its claim is bound elsewhere, no node has room. */
function unavailability({ pod }: Member): string {
  const scheduled = conditionOf(pod, "PodScheduled");
  const isPlaced = scheduled === undefined || scheduled.status === "True" || scheduled.message === "";
  return isPlaced ? "not available" : `not available, for it has no node (${scheduled.message})`;
}

function waitForScaleLimit(pass: Pass, ordinal: number): void {
  const slot = `${pass.name}-${ordinal}`;
  const { missing: slots } = pass.pods.groups;
  const missing = slots.above(slot) + Number(slots.has(slot));
  if (missing === 0) return;
  pass.decided.waiting.push({
    reason: "ScaleLimit",
    message: `${counted(missing, "pod is", "pods are")} still to be created: scaleStrategy.maxUnavailable is ${pass.strategy.scaleMaxUnavailable}`,
    until: "more pods are available",
  });
}

function planMissing(pass: Pass, ordinal: number, creation: { outdated: number }): void {
  const name = `${pass.name}-${ordinal}`;
  if (pass.seen.podNamed(name) !== undefined) {
    tellTaken(pass, name);
    return;
  }
  if (waitsForFormerPod(pass, ordinal)) return;
  const { claims, blocked } = missingClaims(pass, ordinal);
  if (blocked !== undefined) {
    tellBlockedClaim(pass, ordinal, blocked);
    return;
  }
  const revision = revisionFor(pass, ordinal, creation.outdated);
  if (revision.name !== pass.update.name) creation.outdated++;
  pass.decided.take(createPod(pass, revision, ordinal, claims));
}

/** The API finds out by trying without end; here the set says so in the same words, and once. */
function tellTaken(pass: Pass, name: string): void {
  const { decided, seen } = pass;
  decided.waiting.push({
    reason: "NameTaken",
    message: `pod ${name} cannot be created: a pod of that name is not the set's`,
    until: "that pod is gone, or carries the labels of the selector",
    pods: [name],
  });
  if (decided.creationFailure !== undefined) return;
  const { failed } = podWords(pass, "create", name);
  const text = `pods "${name}" already exists, and is not the set's`;
  decided.creationFailure = `${failed.condition ?? failed.message}: ${text}`;
  const isReported = seen.set.status?.conditions?.some(({ message }) => message === decided.creationFailure);
  if (isReported) return;
  const message = `${failed.message}: ${text}`;
  decided.take({ type: "event", event: { type: "Warning", reason: failed.reason, message } });
}

/** Rule 18. */
function revisionFor(pass: Pass, ordinal: number, outdated: number): Revision {
  const { strategy, current, update } = pass;
  if (strategy.onDelete) return update;
  const kept = strategy.unordered === undefined ? (strategy.window.rankOf(ordinal) ?? 0) : outdated;
  return kept < strategy.partition ? current : update;
}

/** A pod that waits for a claim which somebody deleted gets it anew; one whose creation is in flight gets its claims with it. */
function replaceLostClaims(pass: Pass, member: Member): void {
  if (member.busy) return;
  for (const claim of missingClaims(pass, member.ordinal).claims) {
    pass.decided.take({ type: "create claim", ...claim });
  }
}

/** Pods outside of the window. True when there are none left. Rules 11 to 13. */
export function planCondemned(pass: Pass): boolean {
  const { pods } = pass;
  const { leaving, condemned } = pods.groups;
  if (!pass.strategy.ordered) {
    for (const member of membersOf(pods.entries(leaving.descending()))) planCondemnedDeletion(pass, member);
    return condemned.size === 0;
  }
  const [highest] = membersOf(pods.entries(condemned.descending()));
  if (highest === undefined) return true;
  if (highest.terminating) {
    pass.decided.waiting.push({
      reason: "Terminating",
      message: `pod ${highest.pod.name} is still terminating`,
      until: "it is gone",
      pods: [highest.pod.name],
    });
    return false;
  }
  if (!isHealthy(highest) && lowestUnhealthy(pass) !== highest) {
    pass.decided.waiting.push({
      reason: "OrderedReady",
      message: `pod ${highest.pod.name} is not available and not the lowest such pod: scaling in waits`,
      until: `${highest.pod.name} is available`,
      pods: [highest.pod.name],
    });
    return false;
  }
  planCondemnedDeletion(pass, highest);
  return false;
}

function lowestUnhealthy({ pods }: Pass): Member | undefined {
  for (const member of membersOf(pods.entries(pods.groups.condemned))) if (!isHealthy(member)) return member;
  return undefined;
}

/** A pod that a hook holds before its deletion does not block the next one: it is on its way out by our own doing. */
function isHealthy(member: Member): boolean {
  return !member.terminating && (member.available || (member.ready && member.state === "PreparingDelete"));
}

function planCondemnedDeletion(pass: Pass, member: Member): void {
  const bound = planClaimOwners(pass, member);
  if (bound && !member.terminating) planDeletion(pass, member);
}

/** Every deletion of ours passes the preDelete hook (rule 33). */
export function planDeletion(pass: Pass, member: Member): void {
  if (!pass.decided.isFree(member) || member.terminating) return;
  const hook = pass.strategy.lifecycle?.preDelete;
  if (!isHooked(member.pod, hook)) {
    pass.decided.take({
      type: "delete pod",
      pod: member.pod,
      claims: [],
      ...podWords(pass, "delete", member.pod.name),
    });
    return;
  }
  pass.decided.waiting.push(waitingForHook(member.pod, "preDelete"));
  if (member.state === "PreparingDelete") return;
  const change = preparingDelete(member.pod, hook, pass.now);
  pass.decided.take(patchPod(member.pod, change, pass.now, "update"));
}
