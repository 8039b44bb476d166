/** Pods on a node whose containers do not come to run, or do not stay. */
import { counted } from "../../../kube/core/index.ts";
import type { EventFacts, Facts } from "./facts.ts";
import { type ContainerFacts, type EndFacts, isTrue, notReadySince, type PodFacts } from "./pod_facts.ts";
import { describePod, type Found, minute, never, type PodReason, second } from "./pod_reason.ts";
import { shownText } from "./shown_text.ts";

/** Of the node's words about volumes and the pod's network; only while containers are still to be made. */
export const podNotMade: PodReason = (pod, facts) => {
  const isWaiting = pod.containers.some(
    ({ isRunning, end, waiting }) => !isRunning && end === undefined && isUnsaid(waiting?.reason ?? ""),
  );
  if (!isWaiting || pod.containers.some(({ isRunning }) => isRunning)) return undefined;
  const event = facts.eventsOf(pod).find(({ reason }) => notMade.has(reason));
  const known = event === undefined ? undefined : notMade.get(event.reason);
  if (event === undefined || known === undefined) return undefined;
  return {
    reason: event.reason,
    what: shownText(event.message),
    since: event.firstAt,
    stuckAfterMs: 2 * minute,
    until: known,
    next: describePod(pod),
  };
};

const mounted = "the node can mount the volume";
const notMade: ReadonlyMap<string, string> = new Map([
  ["FailedMount", mounted],
  ["FailedAttachVolume", mounted],
  ["FailedMapVolume", mounted],
  ["FailedCreatePodSandBox", "the node can make the pod's network"],
]);

/** Waiting reasons that say nothing about what is amiss. */
const isUnsaid = (reason: string): boolean => ["", "ContainerCreating", "PodInitializing"].includes(reason);

const pullReasons = ["ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed"];
const nameReasons = ["InvalidImageName", "ErrImageNeverPull", "ImageInspectError"];

/** What registries answer of an image that they do not have, or not for this caller: asking again changes nothing. */
const refusedPull =
  /\bnot found\b|manifest unknown|name unknown|does not exist|\bunauthorized\b|authentication required|authorization failed|\bdenied\b|\b40[134] (?:unauthorized|forbidden|not found)/i;

export const imageMissing: PodReason = (pod, facts) => {
  const container = firstOf(pod, ({ waiting }) =>
    [...pullReasons, ...nameReasons].includes(waiting?.reason ?? ""),
  );
  const reason = container?.waiting?.reason;
  if (container === undefined || reason === undefined) return undefined;
  const isRetried = pullReasons.includes(reason);
  const said = pullFailure(facts.eventsOf(pod), container) || container.waiting?.message || "";
  return {
    // The node goes from one of the two to the other and back.
    reason: reason === "ErrImagePull" ? "ImagePullBackOff" : reason,
    what: `container ${container.name} cannot have image ${shownText(container.image)}${said === "" ? "" : `: ${shownText(said)}`}`,
    key: `${container.name} ${container.image}`,
    since: notReadySince(pod),
    stuckAfterMs: isRetried && !refusedPull.test(said) ? minute : 0,
    until: isRetried
      ? "the image can be pulled: the name is right, the registry has it, a pull secret allows it"
      : "the image is another one, or its pull policy",
    next: describePod(pod),
  };
};

/** What the registry answered; the container's own state says only that the node waits before it tries again. */
function pullFailure(events: readonly EventFacts[], { image }: ContainerFacts): string {
  const isAbout = ({ reason, message }: EventFacts) =>
    reason === "Failed" && message.includes("pull") && message.includes(image);
  return events.find(isAbout)?.message ?? "";
}

export const notCreated: PodReason = (pod, facts) => {
  const container = firstOf(pod, ({ waiting }) => /Error$/.test(waiting?.reason.slice(-40) ?? ""));
  const { reason, message } = container?.waiting ?? {};
  if (container === undefined || reason === undefined) return undefined;
  // The node knows only which key is missing, the controller why it does not come.
  const blocked = facts.eventsOf(pod).find((event) => event.reason === "BarrierNotOwned");
  if (blocked !== undefined)
    return {
      reason: "BarrierNotOwned",
      what: shownText(blocked.message),
      since: blocked.firstAt,
      stuckAfterMs: 0,
      until: "that ConfigMap is gone",
      next: describePod(pod),
    };
  return {
    reason: shownText(reason),
    what: `container ${container.name} cannot be started: ${shownText(message || reason)}`,
    since: notReadySince(pod),
    stuckAfterMs: 30 * second,
    until: "what the message names is there, or the container does not ask for it",
    next: describePod(pod),
  };
};

/** Also between two crashes, while the container runs once more. */
export const crashing: PodReason = (pod, facts) => {
  const container = firstOf(pod, ({ waiting, hasEnded, isReplaced, end, isInit, ready, restarts }) => {
    if (waiting?.reason === "CrashLoopBackOff") return true;
    if (end === undefined || isReplaced || isStoppedForUpdate(pod, end)) return false;
    if (hasEnded && (end.exitCode !== 0 || (!isInit && pod.restartPolicy === "Always"))) return true;
    return !ready && !isInit && restarts > 1 && facts.now - (end.at ?? 0) < 10 * minute;
  });
  const end = container?.end;
  if (container === undefined) return undefined;
  const { name, restarts, isInit } = container;
  const kind = isInit ? "init container" : "container";
  return {
    reason: "CrashLoopBackOff",
    what: `${kind} ${name} ${lastWords(pod, container, facts)}, ${counted(restarts, "restart")}`,
    key: `${name} ${end?.exitCode ?? ""} ${end?.reason ?? ""}`,
    since: notReadySince(pod),
    stuckAfterMs: restarts < 2 ? 5 * minute : minute,
    until: endingOf(end?.reason, end?.exitCode, isInit),
    next: `kubectl logs ${pod.name} -c ${name} -n ${pod.namespace}${restarts > 0 ? " --previous" : ""}`,
  };
};

/** An update in place stops containers itself: while its gate is closed, or before it was opened again. */
function isStoppedForUpdate(pod: PodFacts, { at }: EndFacts): boolean {
  const gate = pod.conditions.get("InPlaceUpdateReady");
  if (gate?.since === undefined || at === undefined) return false;
  return gate.status === "False" ? at >= gate.since : at <= gate.since;
}

function endingOf(reason: string | undefined, code: number | undefined, isInit: boolean): string {
  if (reason === "OOMKilled") return "it needs less memory, or its limit is higher";
  if (isInit) return "it ends with exit code 0";
  if (code === 0) return "its program runs on: a container that is always restarted must not end";
  return "its program runs on";
}

/** `ended with exit code 1 (Error), the last line of its log: "no configuration"`. */
export function lastWords(pod: PodFacts, container: ContainerFacts, facts: Facts): string {
  const { end, name } = container;
  const code = end === undefined ? "ended" : `ended with exit code ${end.exitCode}`;
  const reason = end === undefined || end.reason === "" ? "" : ` (${shownText(end.reason)})`;
  const probe = facts.eventsOf(pod).find(isLivenessFailure);
  const killed = probe === undefined ? "" : `, restarted by its liveness probe (${shownText(probe.message)})`;
  const message = shownText(end?.message ?? "") || facts.lastLine(pod, name) || "";
  const line = message === "" ? "" : `, the last line of its log: ${JSON.stringify(message)}`;
  return `${code}${reason}${killed}${line}`;
}

const isLivenessFailure = ({ reason, message }: EventFacts): boolean =>
  (reason === "Unhealthy" || reason === "Killing") && /liveness probe/i.test(message.slice(0, 2000));

/** Nothing is amiss yet: what the node is at. */
export const starting: PodReason = (pod, facts) => {
  if (pod.node === "") return undefined;
  const container = pod.containers.find(
    ({ isRunning, hasEnded, isInit }) =>
      (!isRunning && !hasEnded) || (isInit && isRunning && !isTrue(pod, "Initialized")),
  );
  if (container === undefined) return undefined;
  const common = {
    since: pod.conditions.get("PodScheduled")?.since ?? pod.createdAt,
    next: describePod(pod),
  };
  if (container.isInit && container.isRunning) {
    return {
      ...common,
      reason: "Initializing",
      what: `init container ${container.name} has not ended`,
      since: container.runningSince ?? common.since,
      stuckAfterMs: 10 * minute,
      until: "it ends with exit code 0",
      next: `kubectl logs ${pod.name} -c ${container.name} -n ${pod.namespace}`,
    };
  }
  const pull = facts.eventsOf(pod).find(({ reason }) => reason === "Pulling" || reason === "Pulled");
  return pull?.reason === "Pulling"
    ? pulling(pull, common)
    : {
        ...common,
        reason: "Starting",
        what: `container ${container.name} is being started`,
        stuckAfterMs: 10 * minute,
        until: "its containers run",
      };
};

function pulling(event: EventFacts, common: Pick<Found, "since" | "next">): Found {
  return {
    ...common,
    reason: "ImagePulling",
    what: shownText(event.message),
    since: event.at,
    stuckAfterMs: never,
    until: "the image is there",
  };
}

function firstOf(pod: PodFacts, isIt: (container: ContainerFacts) => boolean): ContainerFacts | undefined {
  return pod.containers.find(isIt);
}
