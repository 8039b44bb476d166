/** ContainerRecreateRequest: what of its containers is not recreated yet, and why. Spec: containers 1. */
import { counted } from "../../../kube/core/index.ts";
import { type AnyObject, at, listAt, numberAt, textAt } from "../../fields.ts";
import { inNamespace } from "../../resource_types.ts";
import { type Cause, holding } from "../causes/cause.ts";
import type { Facts } from "../causes/facts.ts";
import { timeAt } from "../causes/pod_facts.ts";
import { shownName, shownText } from "../causes/shown_text.ts";
import { type Findings, statusSource } from "./status_source.ts";

export const containerRecreateRequestStatus = statusSource<undefined>({
  group: "apps.kruise.io",
  kind: "ContainerRecreateRequest",
  isLasting: false,
  read: async () => undefined,
  explain: (request, _, facts) => explainRecreateRequest(request, facts),
});

interface ContainerState {
  readonly name: string;
  readonly phase: string;
  readonly message: string;
  /** The old container was stopped. */
  readonly isKilled: boolean;
}

export function explainRecreateRequest(request: AnyObject, facts: Facts): Findings {
  const states = statesOf(request);
  const phase = textAt(request, "status", "phase") ?? "";
  const isOver = phase === "Completed" || phase === "Succeeded" || phase === "Failed";
  const done = states.filter((state) => state.phase === "Succeeded").length;
  const pod = shownName(textAt(request, "spec", "podName") ?? "");
  const said = shownText(textAt(request, "status", "message") ?? "");
  return {
    summary: `${shownText(phase) || "not taken up yet"}, ${done} of ${counted(states.length, "container")} of pod ${pod} recreated${said === "" ? "" : `; ${said}`}`,
    causes: holding([
      endedWithout(request, said, isOver && done < states.length, facts),
      ...states.map((state, index) =>
        causeOf(request, state, { before: states.slice(0, index), phase, facts, isOver }),
      ),
    ]),
    ...(isOver ? { isDone: true } : {}),
  };
}

/** In the order of the spec: a container without a state has not been looked at. */
function statesOf(request: AnyObject): ContainerState[] {
  const reported = listAt(request, "status", "containerRecreateStates");
  return listAt(request, "spec", "containers").map((container) => {
    const name = textAt(container, "name") ?? "";
    const state = reported.find((each) => textAt(each, "name") === name);
    return {
      name: shownName(name),
      phase: textAt(state, "phase") ?? "Pending",
      message: shownText(textAt(state, "message") ?? ""),
      isKilled: at(state, "isKilled") === true,
    };
  });
}

/** The controller ended it: its pod is gone, its time is over, or no agent answered. */
function endedWithout(
  request: AnyObject,
  said: string,
  isUnfinished: boolean,
  { subject }: Facts,
): Cause | undefined {
  if (!isUnfinished || said === "") return undefined;
  return {
    reason: "RecreateFailed",
    message: `it ended before all containers were recreated: ${said}`,
    until: "the cause is removed, and a new request is created",
    since: timeAt(request, "status", "completionTime"),
    next: `kubectl describe ${subject.name}${inNamespace(subject.namespace)}`,
    outlook: "stuck",
  };
}

interface ContainerScope {
  readonly before: readonly ContainerState[];
  readonly phase: string;
  readonly facts: Facts;
  readonly isOver: boolean;
}

function causeOf(request: AnyObject, state: ContainerState, scope: ContainerScope): Cause | undefined {
  const { facts, isOver, phase } = scope;
  const pod = `${shownName(textAt(request, "spec", "podName") ?? "")}${inNamespace(facts.subject.namespace)}`;
  if (state.phase === "Failed")
    return {
      reason: "RecreateFailed",
      message: `container ${state.name}: ${state.message || "it could not be recreated"}`,
      until: "the cause is removed, and a new request is created",
      since: timeAt(request, "status", "completionTime"),
      next: `kubectl describe pod ${pod}`,
      outlook: "stuck",
    };
  if (isOver || phase === "" || state.phase === "Succeeded") return undefined;
  const { message, until } = stepOf(request, state, scope);
  return {
    reason: state.phase === "Pending" ? "RecreatePending" : "Recreating",
    message: `container ${state.name}: ${message}${state.message === "" ? "" : ` (${state.message})`}`,
    until,
    since: timeAt(request, "metadata", "creationTimestamp"),
    next: `kubectl describe pod ${pod}`,
    outlook: "moving",
  };
}

function stepOf(
  request: AnyObject,
  { phase, isKilled }: ContainerState,
  { before }: ContainerScope,
): { message: string; until: string } {
  const strategy = at(request, "spec", "strategy");
  const earlier = before.find((state) => state.phase !== "Succeeded");
  if (phase === "Pending" && earlier !== undefined && at(strategy, "orderedRecreate") === true)
    return {
      message: `after container ${earlier.name} (orderedRecreate)`,
      until: `container ${earlier.name} is recreated`,
    };
  const graceSeconds = numberAt(strategy, "unreadyGracePeriodSeconds");
  if (!isKilled && graceSeconds !== undefined)
    return {
      message: `the pod is not ready for ${graceSeconds} s before it is stopped (unreadyGracePeriodSeconds)`,
      until: "that time is over",
    };
  if (!isKilled) return { message: "being stopped", until: "it has stopped, within its grace period" };
  const seconds = numberAt(strategy, "minStartedSeconds") ?? 0;
  const long = seconds > 0 ? ` for ${seconds} s (minStartedSeconds)` : "";
  return { message: "stopped, and not running again yet", until: `the new container runs${long}` };
}
