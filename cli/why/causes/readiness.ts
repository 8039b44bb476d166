/** Pods whose containers run and that are not in service. */
import { isTrue, notReadySince } from "./pod_facts.ts";
import { describePod, minute, never, type PodReason } from "./pod_reason.ts";
import { shownText } from "./shown_text.ts";

export const probeFails: PodReason = (pod, facts) => {
  const container = pod.containers.find(({ isRunning, ready, isInit }) => isRunning && !ready && !isInit);
  if (container === undefined) return undefined;
  const { name, started, startupProbe, readinessProbe } = container;
  const isStarting = startupProbe !== undefined && !started;
  const probe = isStarting ? startupProbe : readinessProbe;
  const kind = isStarting ? "startup" : "readiness";
  const said = facts
    .eventsOf(pod)
    .find(({ reason, message }) => reason === "Unhealthy" && message.toLowerCase().startsWith(kind));
  const words = said === undefined ? "" : `: ${shownText(said.message)}`;
  return {
    reason: isStarting ? "StartupProbe" : "ReadinessProbe",
    what:
      probe === undefined
        ? `container ${name} runs and is not ready`
        : `container ${name} runs, its ${kind} probe (${shownText(probe)}) does not pass${words}`,
    key: `${name} ${kind}`,
    since: container.runningSince ?? notReadySince(pod),
    stuckAfterMs: 10 * minute,
    until: probe === undefined ? "the node reports it ready" : "the probe passes",
    next: `kubectl logs ${pod.name} -c ${name} -n ${pod.namespace}`,
  };
};

/** Gates that this API's own controllers open. */
const ownGates: Readonly<Record<string, string>> = {
  InPlaceUpdateReady: "the container of the new revision runs and the grace period is over",
  KruisePodReady: "who keeps the pod out of service lets it go",
};

export const gateClosed: PodReason = (pod) => {
  const closed = pod.readinessGates.filter((gate) => !isTrue(pod, gate));
  const [gate] = closed;
  if (gate === undefined) return undefined;
  const condition = pod.conditions.get(gate);
  const state = condition === undefined ? "nobody has set it" : `it is ${condition.status || "empty"}`;
  const detail = condition?.message || condition?.reason || "";
  return {
    reason: "ReadinessGate",
    what: `condition ${shownText(gate)} of a readiness gate is not True: ${state}${detail === "" ? "" : ` (${shownText(detail)})`}`,
    since: condition?.since ?? notReadySince(pod),
    stuckAfterMs: 10 * minute,
    until: Object.hasOwn(ownGates, gate)
      ? (ownGates[gate] ?? "")
      : "who watches over the condition sets it to True",
    next: `kubectl get pod ${pod.name} -n ${pod.namespace} -o jsonpath='{.status.conditions}'`,
  };
};

/** The node's answer to new resources of running containers. */
export const resizePending: PodReason = (pod) => {
  const pending = pod.conditions.get("PodResizePending");
  if (pending?.status !== "True") return undefined;
  const isInfeasible = pending.reason === "Infeasible";
  return {
    reason: isInfeasible ? "ResizeInfeasible" : "ResizeDeferred",
    what: `node ${pod.node} does not give the new resources: ${shownText(pending.message || pending.reason)}`,
    key: pending.message,
    since: pending.since,
    stuckAfterMs: isInfeasible ? 0 : 10 * minute,
    until: isInfeasible ? "the pod asks for less, or is replaced" : "the node has room",
    next: describePod(pod),
  };
};

export const awaitingMinReady: PodReason = (pod, { subject, now }) => {
  const since = isTrue(pod, "Ready") ? pod.conditions.get("Ready")?.since : undefined;
  const seconds = subject.minReadySeconds;
  if (since === undefined || now - since >= seconds * 1000) return undefined;
  return {
    reason: "MinReadySeconds",
    what: `ready, available only after ${seconds} s (minReadySeconds)`,
    since,
    stuckAfterMs: never,
    until: "that time is over",
    next: describePod(pod),
  };
};

/** Whatever is not known better. */
export const notReady: PodReason = (pod) => {
  const ready = pod.conditions.get("Ready");
  if (ready?.status === "True" || pod.phase === "Succeeded") return undefined;
  const detail = shownText(
    [ready?.reason ?? "", ready?.message ?? ""].filter((text) => text !== "").join(": "),
  );
  return {
    reason: "NotReady",
    what: detail === "" ? "its node has not reported it ready" : `not ready: ${detail}`,
    since: notReadySince(pod),
    stuckAfterMs: 10 * minute,
    until: "the node reports it ready",
    next: describePod(pod),
  };
};
