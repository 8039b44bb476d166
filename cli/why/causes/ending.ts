/** Pods that are being deleted, or have ended. */
import { lastWords } from "./containers.ts";
import { describePod, minute, type PodReason } from "./pod_reason.ts";
import { shownText } from "./shown_text.ts";

/** `metadata.deletionTimestamp` is when its grace period is over. */
export const terminating: PodReason = (pod, { now }) => {
  if (pod.deletionAt === undefined) return undefined;
  const isOver = now > pod.deletionAt;
  const hasEnded = pod.node === "" || pod.containers.every(({ isRunning }) => !isRunning);
  if (pod.finalizers.length > 0 && (isOver || hasEnded)) {
    const finalizers = shownText(pod.finalizers.join(", "));
    return {
      reason: "Finalizers",
      what: `deleted, and kept by finalizers: ${finalizers}`,
      since: pod.deletionAt,
      stuckAfterMs: minute,
      until: "the owners of the finalizers remove them",
      next: `kubectl get pod ${pod.name} -n ${pod.namespace} -o jsonpath='{.metadata.finalizers}'`,
    };
  }
  return {
    reason: "Terminating",
    what: isOver
      ? "not gone although the grace period is over"
      : "being deleted, containers have time to stop",
    since: isOver ? pod.deletionAt : undefined,
    stuckAfterMs: isOver ? minute : Number.POSITIVE_INFINITY,
    until: "the containers have stopped and the node says so",
    next: describePod(pod),
  };
};

export const failed: PodReason = (pod, facts) => {
  if (pod.phase !== "Failed") return undefined;
  const container = pod.containers.find(({ end }) => end !== undefined && end.exitCode !== 0);
  const status = [pod.reason, pod.message].filter((text) => text !== "").join(": ");
  const ended =
    container?.end === undefined ? "" : `container ${container.name} ${lastWords(pod, container, facts)}`;
  return {
    reason: pod.reason === "" ? "PodFailed" : shownText(pod.reason),
    what: `ended as Failed${status === "" && ended === "" ? "" : `: ${shownText(status) || ended}`}`,
    key: `${pod.reason} ${container?.name ?? ""} ${container?.end?.exitCode ?? ""}`,
    since: container?.end?.at ?? pod.conditions.get("Ready")?.since ?? pod.createdAt,
    stuckAfterMs: 5 * minute,
    until: "the pod is replaced or deleted",
    next:
      ended === "" ? describePod(pod) : `kubectl logs ${pod.name} -c ${container?.name} -n ${pod.namespace}`,
  };
};
