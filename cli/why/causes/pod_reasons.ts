/** Why pods do not get on: for each pod the first reason that holds. */
import { counted } from "../../../kube/core/index.ts";
import type { Cause } from "./cause.ts";
import { crashing, imageMissing, notCreated, podNotMade, starting } from "./containers.ts";
import { failed, terminating } from "./ending.ts";
import type { Facts } from "./facts.ts";
import { agentAbsent, nodeNotReady, recreateRequested } from "./nodes.ts";
import { identityOf, isTrue, type PodFacts } from "./pod_facts.ts";
import type { Found, PodReason } from "./pod_reason.ts";
import { awaitingMinReady, gateClosed, notReady, probeFails, resizePending } from "./readiness.ts";
import { claimPending, schedulingGated, unschedulable, unscheduled } from "./scheduling.ts";

/** What lies deeper stands before what follows from it. */
const podReasons: readonly PodReason[] = [
  nodeNotReady,
  terminating,
  failed,
  schedulingGated,
  claimPending,
  unschedulable,
  unscheduled,
  agentAbsent,
  recreateRequested,
  imageMissing,
  notCreated,
  crashing,
  podNotMade,
  starting,
  probeFails,
  gateClosed,
  resizePending,
  awaitingMinReady,
  notReady,
];

/** Whether a pod needs no explanation. `requested`: identities of pods with a ContainerRecreateRequest that has not ended. */
export function isAtRest(
  pod: PodFacts,
  rest: { minReadySeconds: number; requested: ReadonlySet<string>; now: number },
): boolean {
  if (pod.deletionAt !== undefined || rest.requested.has(identityOf(pod))) return false;
  if (pod.phase === "Succeeded") return true;
  const since = pod.conditions.get("Ready")?.since ?? 0;
  const isAvailable = isTrue(pod, "Ready") && rest.now - since >= rest.minReadySeconds * 1000;
  return isAvailable && !isTrue(pod, "PodResizePending");
}

/** One entry a reason and what it is about, in the order of the list above; its pods by name. */
export function podCauses(facts: Facts): Cause[] {
  const groups = new Map<string, { found: Found; rank: number; pods: PodFacts[] }>();
  for (const pod of facts.pods) {
    const [rank, found] = firstReason(pod, facts) ?? [];
    if (rank === undefined || found === undefined) continue;
    const key = `${found.reason} ${found.key ?? found.what}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { found, rank, pods: [pod] });
    else {
      group.pods.push(pod);
      if ((found.since ?? facts.now) < (group.found.since ?? facts.now))
        group.found = { ...group.found, since: found.since };
    }
  }
  return [...groups.values()]
    .sort((a, b) => a.rank - b.rank || b.pods.length - a.pods.length)
    .map(({ found, pods }) => causeOf(found, pods, facts));
}

function firstReason(pod: PodFacts, facts: Facts): [rank: number, Found] | undefined {
  for (const [rank, reason] of podReasons.entries()) {
    const found = reason(pod, facts);
    if (found !== undefined) return [rank, found];
  }
  return undefined;
}

function causeOf(found: Found, pods: readonly PodFacts[], { now, subject }: Facts): Cause {
  const { reason, what, since, stuckAfterMs, until, next } = found;
  const names = pods.map(({ namespace, name }) => (subject.namespace === "" ? `${namespace}/${name}` : name));
  return {
    reason,
    message: `${counted(pods.length, "pod")}: ${what}`,
    until,
    pods: names,
    since,
    next,
    outlook: now - (since ?? now) >= stuckAfterMs ? "stuck" : "moving",
  };
}
