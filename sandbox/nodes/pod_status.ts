/** The status that a kubelet reports for a pod, from its run. Pure; keeps what others wrote. */
import { type Condition, findCondition, formatTime } from "../../kube/core/index.ts";
import type { ContainerState, ContainerStatus, PodObject, PodStatus } from "../objects/index.ts";
import { workIsDone } from "./facts.ts";
import { type ContainerRun, type PodRun, specOf } from "./pod_run.ts";

interface StatusInput {
  readonly pod: PodObject;
  readonly run: PodRun;
  readonly hostIp: string;
  /** Milliseconds since the epoch, for transition times. */
  readonly now: number;
  readonly imageId: (image: string) => string;
}

/** The whole new status; conditions and fields of other writers stay as they are in `pod`. */
export function podStatus(input: StatusInput): PodStatus {
  const { pod, run } = input;
  const phase = phaseOf(pod, run);
  const status: PodStatus = { ...pod.status, phase };
  if (pod.metadata.generation !== undefined) status.observedGeneration = pod.metadata.generation;
  const failure = run.failure;
  if (failure && phase === "Failed") {
    status.reason = failure.reason;
    status.message = failure.message;
  }
  if (run.admitted) {
    status.hostIP = input.hostIp;
    status.hostIPs = [{ ip: input.hostIp }];
    status.startTime ??= formatTime(run.startedAt);
    status.podIP = run.ip;
    status.podIPs = [{ ip: run.ip }];
  }
  const of = (kinds: readonly ContainerRun["kind"][]): ContainerStatus[] =>
    run.containers
      .filter((container) => kinds.includes(container.kind))
      .map((container) => containerStatus(input, container))
      .sort((left, right) => (left.name < right.name ? -1 : 1));
  status.containerStatuses = of(["main"]);
  // Init containers stay in the order in which they run.
  const init = run.containers.filter(
    (container) => container.kind === "init" || container.kind === "sidecar",
  );
  if (init.length > 0)
    status.initContainerStatuses = init.map((container) => containerStatus(input, container));
  const ephemeral = of(["ephemeral"]);
  if (ephemeral.length > 0) status.ephemeralContainerStatuses = ephemeral;
  status.conditions = conditionsOf(input, phase, status.containerStatuses);
  return status;
}

function phaseOf(pod: PodObject, run: PodRun): string {
  const before = pod.status?.phase;
  if (before === "Succeeded" || before === "Failed") return before;
  const running = run.containers.some((container) => container.state === "running");
  if (run.failure && !running) return "Failed";
  const mains = run.containers.filter((container) => container.kind === "main");
  if (!running && (workIsDone(pod, run) || pod.metadata.deletionTimestamp))
    return endedWell(mains) ? "Succeeded" : "Failed";
  if (!initialised(run)) return "Pending";
  // A pod is Running from the moment that all its containers have been created once.
  return mains.length === 0 || mains.some((container) => container.state === "waiting")
    ? "Pending"
    : "Running";
}

function endedWell(containers: readonly ContainerRun[]): boolean {
  return containers.every((container) => container.state === "exited" && container.exitCode === 0);
}

function initialised(run: PodRun): boolean {
  return run.containers.every(hasDoneItsPart);
}

/** Of the pod's initialisation. */
function hasDoneItsPart({ kind, state, exitCode }: ContainerRun): boolean {
  if (kind === "init") return state === "exited" && exitCode === 0;
  return kind !== "sidecar" || state !== "waiting";
}

function containerStatus({ pod, run, imageId }: StatusInput, container: ContainerRun): ContainerStatus {
  const spec = specOf(pod, container);
  const running = container.state === "running";
  const image = container.image || spec?.image || "";
  const completed = container.state === "exited" && container.exitCode === 0;
  const status: ContainerStatus = {
    name: container.name,
    state: stateOf(run, container),
    lastState: lastStateOf(container),
    ready: container.kind === "init" ? completed : container.ready,
    restartCount: container.restarts,
    image,
    imageID: container.id ? imageId(image) : "",
    started: running && container.hookUntil === 0 && (container.ready || !spec?.startupProbe),
  };
  if (container.id) status.containerID = container.id;
  if (running && container.resources && hasEntries(container.resources)) {
    if (container.resources.requests) status.allocatedResources = container.resources.requests;
    status.resources = container.resources;
  } else if (running) {
    status.resources = {};
  }
  return status;
}

function hasEntries(list: { limits?: object; requests?: object }): boolean {
  return Object.keys(list.limits ?? {}).length + Object.keys(list.requests ?? {}).length > 0;
}

function stateOf(run: PodRun, container: ContainerRun): ContainerState {
  if (container.state === "running") return { running: { startedAt: formatTime(container.startedAt) } };
  if (container.state === "exited" && container.waitingFor === "" && container.lastEnd) {
    return { terminated: container.lastEnd };
  }
  const message = container.waitingMessage;
  const reason = container.waitingFor || defaultReason(run, container);
  return { waiting: message ? { reason, message } : { reason } };
}

function defaultReason(run: PodRun, container: ContainerRun): string {
  const hasInit = run.containers.some((other) => other.kind === "init" || other.kind === "sidecar");
  if (container.kind === "main" && hasInit && !initialised(run)) return "PodInitializing";
  return container.kind === "init" && run.containers[0] !== container
    ? "PodInitializing"
    : "ContainerCreating";
}

function lastStateOf(container: ContainerRun): ContainerState {
  const shown = container.state === "exited" && container.waitingFor === "";
  const end = shown ? container.endBefore : container.lastEnd;
  return end ? { terminated: end } : {};
}

type ConditionState = { status: "True" | "False"; reason?: string; message?: string };

function conditionsOf(input: StatusInput, phase: string, statuses: readonly ContainerStatus[]): Condition[] {
  const { pod, run } = input;
  const containersReady = containersCondition(pod, run, phase, statuses);
  const states: [string, ConditionState][] = [
    [
      "PodReadyToStartContainers",
      { status: run.admitted && phase !== "Succeeded" && phase !== "Failed" ? "True" : "False" },
    ],
    ["Initialized", initialisedCondition(run, phase)],
    ["Ready", containersReady.status === "True" ? gatesCondition(pod) : containersReady],
    ["ContainersReady", containersReady],
  ];
  if (run.refusal) {
    const { reason, message } = run.refusal;
    states.push(["PodResizePending", { status: "True", reason, message }]);
  }
  const before = pod.status?.conditions ?? [];
  if (findCondition(before, "PodScheduled")?.status !== "True")
    states.push(["PodScheduled", { status: "True" }]);
  const conditions: Condition[] = [];
  const left = new Map(states);
  // The order of what is there stays, so that nothing but a real change differs.
  for (const condition of before) {
    const state = left.get(condition.type);
    left.delete(condition.type);
    if (state) conditions.push(conditionFrom(input, condition, condition.type, state));
    else if (condition.type !== "PodResizePending") conditions.push(condition);
  }
  for (const [type, state] of left) conditions.push(conditionFrom(input, undefined, type, state));
  return conditions;
}

function conditionFrom(
  { pod, now }: StatusInput,
  before: Condition | undefined,
  type: string,
  { status, reason, message }: ConditionState,
): Condition {
  const same = before?.status === status;
  if (same && (before.reason ?? "") === (reason ?? "") && (before.message ?? "") === (message ?? ""))
    return before;
  const condition: Condition = {
    type,
    status,
    lastProbeTime: null,
    lastTransitionTime: same && before.lastTransitionTime ? before.lastTransitionTime : formatTime(now),
  };
  if (pod.metadata.generation !== undefined) condition.observedGeneration = pod.metadata.generation;
  if (reason) condition.reason = reason;
  if (message) condition.message = message;
  return condition;
}

function initialisedCondition(run: PodRun, phase: string): ConditionState {
  if (phase === "Succeeded") return { status: "True", reason: "PodCompleted" };
  if (initialised(run)) return { status: "True" };
  const unfinished = run.containers.filter((container) => !hasDoneItsPart(container));
  const names = unfinished.map((container) => container.name).join(" ");
  return {
    status: "False",
    reason: "ContainersNotInitialized",
    message: `containers with incomplete status: [${names}]`,
  };
}

function containersCondition(
  pod: PodObject,
  run: PodRun,
  phase: string,
  statuses: readonly ContainerStatus[],
): ConditionState {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  const unready = statuses.filter((status) => !status.ready).map((status) => status.name);
  for (const container of run.containers) {
    if (container.kind === "sidecar" && !container.ready) unready.push(container.name);
  }
  if (unready.length === 0) return { status: "True" };
  // Containers are named in the order of the spec.
  const order = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ name }) => name);
  unready.sort((left, right) => order.indexOf(left) - order.indexOf(right));
  return {
    status: "False",
    reason: "ContainersNotReady",
    message: `containers with unready status: [${unready.join(" ")}]`,
  };
}

/** Ready needs every readiness gate; the words are the kubelet's (spec inplace-update 4.2, rule 7). */
function gatesCondition(pod: PodObject): ConditionState {
  const messages: string[] = [];
  for (const gate of pod.spec.readinessGates ?? []) {
    const condition = findCondition(pod.status?.conditions, gate.conditionType);
    if (!condition)
      messages.push(`corresponding condition of pod readiness gate "${gate.conditionType}" does not exist.`);
    else if (condition.status !== "True") {
      messages.push(
        `the status of pod readiness gate "${gate.conditionType}" is not "True", but ${condition.status}`,
      );
    }
  }
  if (messages.length === 0) return { status: "True" };
  return { status: "False", reason: "ReadinessGatesNotReady", message: messages.join(", ") };
}
