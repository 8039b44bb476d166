/** Pods that have no node. */
import type { Facts } from "./facts.ts";
import type { PodFacts } from "./pod_facts.ts";
import { describePod, minute, type PodReason, second } from "./pod_reason.ts";
import { shownText } from "./shown_text.ts";

export const schedulingGated: PodReason = (pod) => {
  if (pod.node !== "" || pod.schedulingGates.length === 0) return undefined;
  const gates = shownText(pod.schedulingGates.join(", "));
  return {
    reason: "SchedulingGated",
    what: `held back by scheduling gates: ${gates}`,
    since: pod.createdAt,
    stuckAfterMs: 10 * minute,
    until: "the owner of the gates removes them",
    next: `kubectl get pod ${pod.name} -n ${pod.namespace} -o jsonpath='{.spec.schedulingGates}'`,
  };
};

/** A claim that waits for its first consumer is a consequence: then the scheduler speaks of something else. */
export const claimPending: PodReason = (pod, facts) => {
  const scheduled = pod.conditions.get("PodScheduled");
  if (pod.node !== "") return undefined;
  const isSchedulers = /persistentvolumeclaim|volume/i.test(scheduled?.message.slice(0, 2000) ?? "");
  for (const name of pod.claims) {
    const claim = facts.claim(pod.namespace, name);
    if (claim === undefined || claim.phase === "Bound" || (claim.exists && !isSchedulers)) continue;
    const missing = claim.exists ? `is ${claim.phase || "not bound"}` : "does not exist";
    return {
      reason: "VolumeClaim",
      what: `claim ${name} ${missing}${claim.warning === "" ? "" : `: ${shownText(claim.warning)}`}`,
      key: claim.exists ? `${claim.phase} ${claim.warning}` : "missing",
      since: scheduled?.since ?? pod.createdAt,
      stuckAfterMs: minute,
      until: "the claim is bound to a volume",
      next: `kubectl ${claim.exists ? `describe pvc ${name}` : "get pvc"} -n ${pod.namespace}`,
    };
  }
  return undefined;
};

export const unschedulable: PodReason = (pod, facts) => {
  const scheduled = pod.conditions.get("PodScheduled");
  if (pod.node !== "" || scheduled === undefined || scheduled.status === "True") return undefined;
  const since = scheduled.since ?? pod.createdAt;
  const growth = facts.eventsOf(pod).find(({ reason }) => reason === "TriggeredScaleUp");
  const message = shownText(scheduled.message || scheduled.reason);
  const asked = /affinity\/selector/.test(message) ? pod.placement.join("; ") : "";
  if (growth !== undefined) {
    return {
      reason: "Unschedulable",
      what: `no node has room yet, nodes are being added (${shownText(growth.message)}): ${message}`,
      since,
      stuckAfterMs: 10 * minute,
      until: "a new node is ready",
      next: describePod(pod),
    };
  }
  return {
    reason: "Unschedulable",
    what: `no node takes the pod${asked === "" ? "" : ` (${asked})`}: ${message}`,
    since,
    stuckAfterMs: minute,
    until: "a node fits what the pod asks for, or the pod asks for what nodes have",
    next: describePod(pod),
  };
};

export const unscheduled: PodReason = (pod: PodFacts, facts: Facts) => {
  if (pod.node !== "") return undefined;
  const isOld = facts.now - (pod.createdAt ?? facts.now) > 30 * second;
  return {
    reason: "NotScheduled",
    what: isOld
      ? `no scheduler has taken the pod up (schedulerName: ${shownText(pod.scheduler)})`
      : "being scheduled",
    since: pod.createdAt,
    stuckAfterMs: minute,
    until: "the scheduler puts the pod on a node",
    next: isOld ? "kubectl get pods -n kube-system" : describePod(pod),
  };
};
