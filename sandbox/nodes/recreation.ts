/** How a simulated agent goes about one ContainerRecreateRequest. Pure. Spec: containers 1.4, rules 3 to 9. */
import type { ContainerRecreateRequest, ContainerRecreateRequestStatus } from "../../crds/index.ts";
import { formatTime } from "../../kube/core/index.ts";
import type { PodObject } from "../objects/index.ts";
import { restartOf } from "./facts.ts";
import type { ContainerRun, PodRun } from "./pod_run.ts";

type State = NonNullable<ContainerRecreateRequestStatus["containerRecreateStates"]>[number];

interface RecreationStep {
  readonly status: ContainerRecreateRequestStatus;
  /** The container to stop now. */
  readonly stop?: string;
  /** Milliseconds until time alone goes on; absent: until something changes. */
  readonly wakeAfterMs?: number;
}

/** The request of a pod that is carried out now: one under way, then one that waited, then the oldest. */
export function requestInTurn<T extends ContainerRecreateRequest>(requests: readonly T[]): T | undefined {
  const rank = ({ status }: T): number => ["Recreating", "Pending"].indexOf(status?.phase ?? "") >>> 0;
  const age = ({ metadata }: T): string => `${metadata.creationTimestamp} ${metadata.name}`;
  return [...requests].sort((a, b) => rank(a) - rank(b) || (age(a) < age(b) ? -1 : 1))[0];
}

export function recreationStep(
  request: ContainerRecreateRequest,
  pod: PodObject,
  run: PodRun,
  now: number,
): RecreationStep {
  const wakes: number[] = [];
  const states = request.spec.containers.map((container) => {
    const { state, wakeAfterMs } = stateOf(request, container, pod, run, now);
    if (wakeAfterMs !== undefined) wakes.push(wakeAfterMs);
    return state;
  });
  const graceMs = graceLeftMs(request, now);
  if (graceMs > 0 && Number.isFinite(graceMs)) wakes.push(graceMs);
  const walk = walkStates(request, states);
  const status: ContainerRecreateRequestStatus = {
    ...request.status,
    phase: walk.completed ? "Completed" : "Recreating",
    containerRecreateStates: walk.states,
    ...(walk.completed
      ? { completionTime: formatTime(now), ...lastSnapshot(request, pod, walk.states) }
      : {}),
  };
  return {
    status,
    ...(walk.stop !== undefined && graceMs === 0 ? { stop: walk.stop } : {}),
    ...(wakes.length === 0 ? {} : { wakeAfterMs: Math.min(...wakes) }),
  };
}

/** Nobody adds to the snapshot of a request that is over: its end brings along the containers that are back. */
function lastSnapshot(
  { status }: ContainerRecreateRequest,
  pod: PodObject,
  states: readonly State[],
): Pick<ContainerRecreateRequestStatus, "containerStatusSnapshot"> {
  const snapshot = states.flatMap(({ name, phase }) => {
    const shown = pod.status?.containerStatuses?.find((one) => one.name === name);
    const told = status?.containerStatusSnapshot?.find((one) => one.name === name);
    if (phase !== "Succeeded" || shown === undefined) return told === undefined ? [] : [told];
    const { ready, restartCount, containerID = "" } = shown;
    return [{ name, ready, restartCount, containerID }];
  });
  return snapshot.length > 0 ? { containerStatusSnapshot: snapshot } : {};
}

type Listed = ContainerRecreateRequest["spec"]["containers"][number];

function stateOf(
  request: ContainerRecreateRequest,
  { name, statusContext }: Listed,
  pod: PodObject,
  run: PodRun,
  now: number,
): { state: State; wakeAfterMs?: number } {
  const before = request.status?.containerRecreateStates?.find((state) => state.name === name);
  if (before?.phase === "Succeeded" || before?.phase === "Failed") return { state: before };
  const container = run.containers.find((one) => one.kind === "main" && one.name === name);
  if (container === undefined || container.id === "") {
    return { state: { name, phase: "Pending", message: "not found container on Node" } };
  }
  const isKilled = before?.isKilled === true || container.stoppedFor === request.metadata.uid;
  const state = (phase: State["phase"]): State => ({ name, phase, ...(isKilled ? { isKilled } : {}) });
  if (container.state === "exited") {
    if (!isKilled || restartOf(pod, container) === "wanted") return { state: state("Recreating") };
    const policy = pod.spec.restartPolicy ?? "Always";
    const message = `the container is not started again: the pod's restartPolicy is ${policy}`;
    return { state: { ...state("Failed"), message } };
  }
  if (request.spec.strategy?.forceRecreate === true && !isKilled) return { state: state("Pending") };
  const { containerID = "", restartCount = 0 } = statusContext ?? {};
  if (container.id === containerID && container.restarts <= restartCount) return { state: state("Pending") };
  const leftMs = readyLeftMs(request, pod, container, now);
  if (leftMs === 0) return { state: state("Succeeded") };
  return { state: state("Recreating"), ...(leftMs === undefined ? {} : { wakeAfterMs: leftMs }) };
}

/** 0 when the new container is ready and ran long enough; undefined until something changes. */
function readyLeftMs(
  request: ContainerRecreateRequest,
  pod: PodObject,
  container: ContainerRun,
  now: number,
): number | undefined {
  const shown = pod.status?.containerStatuses?.find(({ name }) => name === container.name);
  if (shown?.containerID !== container.id || !shown.ready) return undefined;
  const neededMs = (request.spec.strategy?.minStartedSeconds ?? 0) * 1_000;
  const ranMs = now - container.startedAt;
  return ranMs > neededMs ? 0 : neededMs - ranMs + 1;
}

/** Infinite until the controller has said since when the pod is held not ready: some time within that whole second. */
function graceLeftMs({ spec, status }: ContainerRecreateRequest, now: number): number {
  const seconds = spec.strategy?.unreadyGracePeriodSeconds;
  if (typeof seconds !== "number") return 0;
  const since = status?.conditions?.find(({ type }) => type === "PreRecreateGrace")?.lastTransitionTime;
  return since ? Math.max(0, Date.parse(since) + 999 + seconds * 1_000 - now) : Number.POSITIVE_INFINITY;
}

function walkStates(
  { spec }: ContainerRecreateRequest,
  observed: readonly State[],
): { states: State[]; completed: boolean; stop?: string } {
  const { orderedRecreate = false, failurePolicy = "Fail" } = spec.strategy ?? {};
  const states = [...observed];
  let left = 0;
  for (const [index, state] of observed.entries()) {
    if (state.phase === "Failed" && failurePolicy !== "Ignore") return { states, completed: true };
    if (state.phase === "Failed" || state.phase === "Succeeded") continue;
    left += 1;
    if (state.phase === "Recreating") {
      states[index] = { ...state, isKilled: true };
      if (orderedRecreate) break;
      continue;
    }
    return { states, completed: false, ...(state.message === undefined ? { stop: state.name } : {}) };
  }
  return { states, completed: left === 0 };
}
