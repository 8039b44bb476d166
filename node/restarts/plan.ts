/** What one pass over a ContainerRecreateRequest does. Pure. Spec: containers 1.4. */
import type { ContainerRecreateRequest, ContainerRecreateRequestStatus } from "../../crds/index.ts";
import { formatTime, timeOf } from "../../kube/core/index.ts";
import { type ReportedContainer, type RuntimeContainer, splitContainerID } from "../container.ts";

export type RecreateState = NonNullable<ContainerRecreateRequestStatus["containerRecreateStates"]>[number];
type Snapshot = NonNullable<ContainerRecreateRequestStatus["containerStatusSnapshot"]>;

export interface RestartObserved {
  readonly request: ContainerRecreateRequest;
  /** Newest instance by container name. */
  readonly containers: ReadonlyMap<string, RuntimeContainer>;
  /** `status.containerStatuses` of the pod as the agent's own watch shows it. */
  readonly podStatuses: readonly ReportedContainer[];
  readonly restartPolicy: string;
  readonly runtimeName: string;
  /** When this agent first saw that the pod is held not ready, milliseconds since the epoch. */
  readonly heldSince?: number | undefined;
  /** Container id that this request stopped, by container name, as far as this agent knows. */
  readonly stoppedHere: ReadonlyMap<string, string>;
}

export interface RestartPlan {
  readonly states: readonly RecreateState[];
  /** Set when the request is over; the message is empty after a normal end. */
  readonly completed?: { readonly message: string };
  /** With a normal end: what the controller would have shown of the new containers, where it was not as quick. */
  readonly snapshot?: Snapshot;
  /** The one container to stop in this pass. */
  readonly kill?: string;
  /** Stopped by this request and not running again: the agent may start these itself. */
  readonly start: readonly string[];
  /** Why the request does not go on, for logs and `refit why`. */
  readonly waiting: string;
  readonly requeueAfterMs?: number;
}

const drained = "PreRecreateGrace";

export function planRestart(observed: RestartObserved, now: number): RestartPlan {
  const { request } = observed;
  const wrong = wrongContext(observed);
  if (wrong !== undefined) {
    return {
      states: request.status?.containerRecreateStates ?? [],
      completed: { message: wrong },
      start: [],
      waiting: "",
    };
  }
  const containers = request.spec.containers.map((container) => progressOf(observed, container, now));
  const graceMs = drainLeftMs(observed, now);
  const walk = walkStates(request, containers, graceMs === 0);
  const delays = [
    ...containers.map((one) => one.requeueAfterMs),
    graceMs > 0 && graceMs < Number.POSITIVE_INFINITY ? graceMs : undefined,
  ];
  const requeueAfterMs = Math.min(...delays.filter((ms) => ms !== undefined));
  const start = containers.filter((one) => one.startable).map((one) => one.state.name);
  return {
    states: walk.states,
    ...(walk.completed ? { completed: { message: "" }, ...missingSnapshot(observed, walk.states) } : {}),
    ...(walk.kill === undefined ? {} : { kill: walk.kill }),
    start,
    waiting: walk.completed
      ? ""
      : graceMs > 0
        ? "the pod is held not ready before the first stop"
        : walk.waiting,
    ...(Number.isFinite(requeueAfterMs) ? { requeueAfterMs } : {}),
  };
}

/**
 * Nobody adds to the snapshot of a request that is over, so its end brings along what is not in there yet. The pod of the agent's watch
 * may be older than the one that the controller has seen: only what it shows of the containers that run now counts, and what is shown
 * ready stays.
 */
function missingSnapshot(
  { request, podStatuses, containers, runtimeName }: RestartObserved,
  states: readonly RecreateState[],
): { snapshot?: Snapshot } {
  const shown = request.status?.containerStatusSnapshot ?? [];
  const done = new Set(states.filter(({ phase }) => phase === "Succeeded").map(({ name }) => name));
  const isMissing = ({ name, containerID, ready }: ReportedContainer): boolean =>
    done.has(name) &&
    containerID === `${runtimeName}://${containers.get(name)?.id}` &&
    !shown.some(
      (old) => old.name === name && old.containerID === containerID && (old.ready === true || !ready),
    );
  const newer = new Map(
    podStatuses
      .filter(isMissing)
      .map(({ name, ready, restartCount, containerID }) => [
        name,
        { name, ready, restartCount, containerID },
      ]),
  );
  if (newer.size === 0) return {};
  return { snapshot: [...shown.filter(({ name }) => !newer.has(name)), ...newer.values()] };
}

/** Requests that the runtime of this node cannot serve end at once (rule 14). */
function wrongContext({ request, runtimeName }: RestartObserved): string | undefined {
  const runtimes = new Set<string>();
  for (const { name, statusContext } of request.spec.containers) {
    const context = splitContainerID(statusContext?.containerID ?? "");
    if (!context)
      return `failed to find runtime service: no statusContext or empty containerID in ${name} container`;
    runtimes.add(context.runtime);
  }
  if (runtimes.size > 1)
    return `failed to find runtime service: has different runtime types ${[...runtimes].join(", ")}`;
  const [runtime = ""] = runtimes;
  return runtime === runtimeName
    ? undefined
    : `failed to find runtime service: not found runtime service for ${runtime} in daemon`;
}

interface ContainerProgress {
  readonly state: RecreateState;
  readonly startable: boolean;
  readonly requeueAfterMs?: number;
}

type ContainerSpec = ContainerRecreateRequest["spec"]["containers"][number];

function progressOf(observed: RestartObserved, container: ContainerSpec, now: number): ContainerProgress {
  const { name, statusContext } = container;
  const previous = observed.request.status?.containerRecreateStates?.find((one) => one.name === name);
  const isKilled = previous?.isKilled === true || observed.stoppedHere.has(name);
  const state = (phase: RecreateState["phase"], message = ""): RecreateState => ({
    name,
    phase,
    ...(message ? { message } : {}),
    ...(isKilled ? { isKilled } : {}),
  });
  if (previous && (previous.phase === "Failed" || previous.phase === "Succeeded"))
    return { state: previous, startable: false };
  const present = observed.containers.get(name);
  if (!present) return { state: state("Pending", "not found container on Node"), startable: false };
  const force = observed.request.spec.strategy?.forceRecreate === true;
  const stopped = observed.stoppedHere.get(name);
  const askedId = splitContainerID(statusContext?.containerID ?? "")?.id;
  const oldId = stopped ?? askedId;
  if (present.state === "exited") {
    const never = staysDown(observed.restartPolicy, present);
    if (isKilled && never) return { state: state("Failed", never), startable: false };
    return { state: state("Recreating"), startable: isKilled && present.id === oldId };
  }
  if (force && !isKilled) return { state: state("Pending"), startable: false };
  // What was to be stopped runs on, however often it had restarted before: the runtime or the agent may go away before the stop.
  if (present.id === stopped) return { state: state("Pending"), startable: false };
  // A runtime out of its mind may have told of another one than the request was made for, and that was stopped.
  const isNew = present.id !== oldId && present.id !== askedId;
  const replaced = isNew || present.restartCount > (statusContext?.restartCount ?? 0);
  // Also when it was said to be stopped: that is reported first, and the agent may have died before it was done.
  if (!replaced) return { state: state("Pending"), startable: false };
  const leftMs = readyLeftMs(observed, present, now);
  if (leftMs === 0) return { state: state("Succeeded"), startable: false };
  return {
    state: state("Recreating"),
    startable: false,
    ...(leftMs === undefined ? {} : { requeueAfterMs: leftMs }),
  };
}

/** Why the kubelet does not start an exited container again, or undefined. */
function staysDown(restartPolicy: string, container: RuntimeContainer): string | undefined {
  if (restartPolicy === "Never" || (restartPolicy === "OnFailure" && container.exitCode === 0)) {
    return `the container is not started again: the pod's restartPolicy is ${restartPolicy}`;
  }
  return undefined;
}

/** 0 when the new container is ready and ran long enough; milliseconds until it may be; undefined until something changes. */
function readyLeftMs(
  observed: RestartObserved,
  container: RuntimeContainer,
  now: number,
): number | undefined {
  const id = `${observed.runtimeName}://${container.id}`;
  const { containerStatusSnapshot: snapshot = [] } = observed.request.status ?? {};
  const ready = [...snapshot, ...observed.podStatuses].some(
    (one) => one.name === container.name && one.containerID === id && one.ready,
  );
  if (!ready || container.state !== "running") return undefined;
  const neededMs = (observed.request.spec.strategy?.minStartedSeconds ?? 0) * 1000;
  const ranMs = now - container.startedAt;
  return ranMs > neededMs ? 0 : neededMs - ranMs + 1;
}

/** Whether the pod is known to be held not ready. */
export function isDrained(request: ContainerRecreateRequest): boolean {
  return drainedAt(request) !== undefined;
}

function drainedAt({ status }: ContainerRecreateRequest): number | undefined {
  const condition = status?.conditions?.find((one) => one.type === drained && one.status === "True");
  return timeOf(condition?.lastTransitionTime);
}

/**
 * Milliseconds of the not-ready grace that are left; infinite until the pod is known to be held not ready. The condition
 * has whole seconds and may show up to one too early: the grace is as long as asked for by the agent's own clock.
 */
function drainLeftMs({ request, heldSince }: RestartObserved, now: number): number {
  const seconds = request.spec.strategy?.unreadyGracePeriodSeconds;
  if (seconds === undefined) return 0;
  const shown = drainedAt(request);
  if (shown === undefined) return Number.POSITIVE_INFINITY;
  const since = Math.min(heldSince ?? shown, shown + 999);
  return Math.max(0, since + seconds * 1000 - now);
}

interface Walk {
  readonly states: readonly RecreateState[];
  readonly completed: boolean;
  readonly kill?: string;
  readonly waiting: string;
}

/** In the order of the list: at most one stop in a pass; with orderedRecreate nothing after one that is not done. */
function walkStates(
  request: ContainerRecreateRequest,
  containers: readonly ContainerProgress[],
  mayKill: boolean,
): Walk {
  const { orderedRecreate = false, failurePolicy = "Fail" } = request.spec.strategy ?? {};
  const states = containers.map((one) => one.state);
  let waiting = "";
  for (const [index, state] of states.entries()) {
    if (state.phase === "Failed" && failurePolicy !== "Ignore")
      return { states, completed: true, waiting: "" };
    if (state.phase === "Failed" || state.phase === "Succeeded") continue;
    waiting ||= `container ${state.name} is ${state.phase}${state.message ? `: ${state.message}` : ""}`;
    if (state.phase === "Recreating") {
      states[index] = { ...state, isKilled: true };
      if (orderedRecreate) return { states, completed: false, waiting };
      continue;
    }
    // A container that is not on the node cannot be stopped; it holds its place in the order.
    if (state.message !== undefined) return { states, completed: false, waiting };
    return mayKill
      ? { states, completed: false, kill: state.name, waiting }
      : { states, completed: false, waiting };
  }
  return { states, completed: waiting === "", waiting };
}

/** The status to write: only what the agent owns; conditions, and the snapshot until the end, are the controller's. */
export function restartStatus(
  plan: Pick<RestartPlan, "states" | "completed" | "snapshot">,
  now: number,
): Partial<ContainerRecreateRequestStatus> {
  const { states, completed, snapshot } = plan;
  return {
    phase: completed ? "Completed" : "Recreating",
    ...(states.length > 0 ? { containerRecreateStates: [...states] } : {}),
    ...(completed ? { completionTime: formatTime(now) } : {}),
    ...(completed && snapshot !== undefined ? { containerStatusSnapshot: snapshot } : {}),
    ...(completed?.message ? { message: completed.message } : {}),
  };
}

/** Which request of a pod is carried out now: one that is under way, then one that waited, then the oldest (rule 3). */
export function pickRequest<Request extends ContainerRecreateRequest>(
  requests: readonly Request[],
): Request | undefined {
  const rank = (one: ContainerRecreateRequest): number => {
    const phase = one.status?.phase;
    return phase === "Recreating" ? 0 : phase === "Pending" ? 1 : 2;
  };
  const key = (one: ContainerRecreateRequest): string =>
    `${one.metadata.creationTimestamp} ${one.metadata.name}`;
  return requests
    .filter((one) => !isOver(one))
    .sort((a, b) => rank(a) - rank(b) || (key(a) < key(b) ? -1 : 1))[0];
}

/** Those to acknowledge as waiting: a stop may take longer than the controller waits for a sign of the agent. */
export function unacknowledged<Request extends ContainerRecreateRequest>(
  requests: readonly Request[],
  picked: Request | undefined,
): Request[] {
  return requests.filter((request) => request !== picked && !request.status?.phase);
}

export function isOver({ status }: ContainerRecreateRequest): boolean {
  return status?.phase === "Completed";
}

const defaultGraceSeconds = 30;

/** How a container of a request is stopped. */
export function stopTerms(
  { metadata, spec }: ContainerRecreateRequest,
  container: string,
): { readonly graceSeconds: number; readonly message: string } {
  return {
    graceSeconds: spec.strategy?.terminationGracePeriodSeconds ?? defaultGraceSeconds,
    message: `Stopping container ${container} by ContainerRecreateRequest ${metadata.name}`,
  };
}
