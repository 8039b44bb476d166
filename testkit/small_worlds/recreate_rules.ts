/**
 * What must not happen to requests, their pod and its containers, and how a request is at rest. Spec: containers 1.4, whose rules are
 * named here by their numbers.
 */
import { objectAt, objectsAt, textAt } from "../../controller/native/json_fields.ts";
import type { KindEffect } from "../../controller/plan/effects.ts";
import {
  type ContainerRecreateRequest,
  type ContainerRecreateRequestStatus,
  RECREATE_ACTIVE_LABEL,
  RECREATE_GRACE_CONDITION,
  RECREATE_UNREADY_FINALIZER,
} from "../../crds/index.ts";
import { isJsonObject, jsonEqual, own } from "../../kube/core/index.ts";
import {
  holdersOf,
  type Instance,
  isActive,
  isGoing,
  podUidOf,
  RUNTIME,
  type Stop,
  type Stored,
  uidOf,
} from "./recreate_state.ts";

type Status = Partial<ContainerRecreateRequestStatus>;
type RecreateState = NonNullable<Status["containerRecreateStates"]>[number];

/** Rule 1.3: it goes no way back. */
const PHASES: readonly unknown[] = [undefined, "Pending", "Recreating", "Completed"];

const isOver = ({ status }: ContainerRecreateRequest): boolean => status?.phase === "Completed";

const isLeft = ({ metadata }: ContainerRecreateRequest): boolean => metadata.deletionTimestamp === undefined;

const isDone = ({ phase }: RecreateState): boolean => phase === "Succeeded" || phase === "Failed";

const secondsMs = (seconds: number | undefined): number => (seconds ?? 0) * 1000;

function startOf({ metadata }: ContainerRecreateRequest): number {
  return Date.parse(metadata.creationTimestamp ?? "");
}

function stateOf(status: Status | undefined, name: string): RecreateState | undefined {
  return status?.containerRecreateStates?.find((one) => one.name === name);
}

function holderOf({ metadata: { namespace, name } }: ContainerRecreateRequest): string {
  return `ContainerRecreateRequest ${namespace}/${name}`;
}

function graceOf({ status }: ContainerRecreateRequest): string | undefined {
  const conditions = status?.conditions ?? [];
  return conditions.find(({ type, status: value }) => type === RECREATE_GRACE_CONDITION && value === "True")
    ?.lastTransitionTime;
}

/** Whether the container is another one than that of the request (rule 5). */
function isReplaced(
  { id, restartCount }: Instance,
  request: ContainerRecreateRequest,
  name: string,
): boolean {
  const context = request.spec.containers.find((one) => one.name === name)?.statusContext;
  return context?.containerID !== `${RUNTIME}://${id}` || restartCount > (context.restartCount ?? 0);
}

/** `known`: the request as the agent knows it when it asks the runtime (rules 2 to 8). */
export function checkStop(stored: Stored, stop: Stop, known: ContainerRecreateRequest): void {
  const { container: name, id } = stop;
  const { spec, status } = known;
  const refuse = (why: string): never => {
    throw new Error(`${name} is stopped for ${known.metadata.name}, ${why}`);
  };
  const at = spec.containers.findIndex((one) => one.name === name);
  if (at < 0) refuse("which does not list it");
  if (stop.pod !== podUidOf(known)) refuse("which is of another pod");
  if (isOver(known)) refuse("which is known to be over");
  if (!isLeft(known)) refuse("which is known to be deleted");
  const { failurePolicy, forceRecreate, orderedRecreate, unreadyGracePeriodSeconds } = spec.strategy ?? {};
  const states = spec.containers.map((one) => stateOf(status, one.name));
  if (failurePolicy !== "Ignore" && states.some((state) => state?.phase === "Failed"))
    refuse("which has failed");
  if (orderedRecreate === true && states.slice(0, at).some((state) => state === undefined || !isDone(state)))
    refuse("and it is not its turn");
  const instance = stored.node.get(stop.pod)?.get(name);
  if (forceRecreate !== true && instance?.id === id && isReplaced(instance, known, name))
    refuse("and has been restarted before");
  const now = stored.requests.get(known.metadata.name ?? "");
  const isAsked =
    now !== undefined && uidOfRequest(now) === uidOfRequest(known) && isLeft(now) && !isOver(now);
  if (unreadyGracePeriodSeconds === undefined || !isAsked || !hasGate(stored)) return;
  const since = stored.heldSince.get(holderOf(known));
  if (since === undefined) refuse("and the pod is not held");
  else if (stored.now - since < secondsMs(unreadyGracePeriodSeconds)) refuse("and the grace is not over");
}

export function uidOfRequest({ metadata }: ContainerRecreateRequest): string {
  return metadata.uid ?? "";
}

function hasGate({ pod = {} }: Stored): boolean {
  const gates = objectsAt(objectAt(pod, "spec"), "readinessGates");
  return gates.some((gate) => textAt(gate, "conditionType") === "KruisePodReady");
}

/** What ran has ended by it. */
export function checkStopped({ stops }: Stored, { request, container }: Stop): void {
  if (stops.includes(`${request} ${container}`))
    throw new Error(`${container} is restarted twice for ${request}`);
}

/** What the agent is about to write, as it sees its node (rules 5 to 7). */
export function checkReport(stored: Stored, known: ContainerRecreateRequest, status: Status): void {
  const { spec } = known;
  const containers = stored.node.get(podUidOf(known)) ?? new Map<string, Instance>();
  for (const { name, phase, isKilled = false } of status.containerRecreateStates ?? []) {
    if (phase !== "Succeeded" || stateOf(known.status, name)?.phase === "Succeeded") continue;
    const one = containers.get(name);
    const ranMs = stored.now - (one?.startedAt ?? stored.now);
    const isBack =
      one?.isReady === true &&
      isReplaced(one, known, name) &&
      ranMs > secondsMs(spec.strategy?.minStartedSeconds);
    if (!isBack || (spec.strategy?.forceRecreate === true && !isKilled))
      throw new Error(`${name} has not come back yet, and is reported`);
  }
  if (status.phase !== "Completed") return;
  if (status.message === "pod has gone") checkGone(stored, known);
  if (status.message !== undefined) return;
  const states = status.containerRecreateStates ?? [];
  const isFailed = states.some(({ phase }) => phase === "Failed");
  const isEnd =
    (states.length === spec.containers.length && states.every(isDone)) ||
    (isFailed && spec.strategy?.failurePolicy !== "Ignore");
  if (!isEnd) throw new Error("it is completed early");
}

/** Rule 11. */
function checkGone({ pod }: Stored, request: ContainerRecreateRequest): void {
  if (pod !== undefined && !isGoing(pod) && uidOf(pod) === podUidOf(request))
    throw new Error("it is said that the pod has gone");
}

/** Each version that is stored, whoever wrote it (rules 2, 4, 11 to 13). */
export function checkRequest(
  stored: Stored,
  before: ContainerRecreateRequest,
  after: ContainerRecreateRequest,
): void {
  const refuse = (why: string): never => {
    throw new Error(`${after.metadata.name}: ${why}`);
  };
  if (PHASES.indexOf(after.status?.phase) < PHASES.indexOf(before.status?.phase)) refuse("it goes back");
  const endOf = ({ status }: ContainerRecreateRequest) => [status?.completionTime, status?.message];
  if (isOver(before) && !jsonEqual(endOf(before), endOf(after))) refuse("its end changes");
  for (const state of before.status?.containerRecreateStates ?? [])
    if (isDone(state) && !jsonEqual(state, stateOf(after.status, state.name)))
      refuse(`${state.name} was done, and changes`);
  if (graceOf(before) !== undefined && graceOf(before) !== graceOf(after)) refuse("its grace moves");
  const shown = (request: ContainerRecreateRequest) => request.status?.containerStatusSnapshot ?? [];
  const restartsIn = (request: ContainerRecreateRequest, name: string): number =>
    shown(request).find((one) => one.name === name)?.restartCount ?? -1;
  for (const { name, statusContext: { restartCount = 0 } = {} } of after.spec.containers) {
    const restarts = restartsIn(after, name);
    if (restarts < restartsIn(before, name)) refuse(`its snapshot of ${name} goes back`);
    if (restarts >= 0 && restarts <= restartCount) refuse(`its snapshot has the old ${name}`);
  }
  if (!jsonEqual([before.spec, podUidOf(before)], [after.spec, podUidOf(after)])) refuse("it is another one");
  const isEnded = isOver(after) || !isLeft(after);
  if (isActive(before) && !isActive(after) && !isEnded) refuse("its agent does not see it any more");
  const holds = ({ metadata }: ContainerRecreateRequest): boolean =>
    (metadata.finalizers ?? []).includes(RECREATE_UNREADY_FINALIZER);
  const isHeld = uidOf(stored.pod) === podUidOf(after) && holdersOf(stored.pod).includes(holderOf(after));
  const isStaying = stored.pod !== undefined && !isGoing(stored.pod);
  if (holds(before) && !holds(after) && isHeld && isStaying) refuse("the pod is still held for it");
  const others = [...stored.requests.values()].filter(
    (one) => one.metadata.name !== after.metadata.name && podUidOf(one) === podUidOf(after),
  );
  if (after.status?.phase === "Recreating" && before.status?.phase !== "Recreating")
    for (const other of others)
      if (other.status?.phase === "Recreating" && isLeft(other))
        refuse(`it is the turn of ${other.metadata.name}`);
}

/** Keys of others stay. */
export function checkPod(before: string[], after: string[], request: ContainerRecreateRequest): void {
  const own = holderOf(request);
  const others = (holders: string[]): string[] => holders.filter((holder) => holder !== own).sort();
  if (!jsonEqual(others(before), others(after))) throw new Error("a key of somebody else changes");
}

/** What the controller has decided about the request as it knows it (rules 11 to 13). */
export function checkEffect(stored: Stored, known: ContainerRecreateRequest, effect: KindEffect): void {
  const ageMs = stored.now - startOf(known);
  const { activeDeadlineSeconds, ttlSecondsAfterFinished } = known.spec;
  if (effect.type === "delete object") {
    const leftMs =
      Date.parse(known.status?.completionTime ?? "") + secondsMs(ttlSecondsAfterFinished) - stored.now;
    if (!isOver(known) || ttlSecondsAfterFinished === undefined || !(leftMs <= 0))
      throw new Error("it is removed too early");
  }
  if (effect.type !== "patch status" || own(Object(effect.status), "phase") === undefined) return;
  const { message }: Status = effect.status;
  const isRight =
    message === "recreating has exceeded the activeDeadlineSeconds"
      ? activeDeadlineSeconds !== undefined && ageMs >= secondsMs(activeDeadlineSeconds)
      : message === "daemon has not responded for a long time"
        ? known.status?.phase === undefined && ageMs >= 60_000
        : message === "pod has gone";
  if (!isRight) throw new Error(`it is completed early: ${message}`);
  if (message === "pod has gone") checkGone(stored, known);
}

/** At rest. */
export function unsettledRequest(request: ContainerRecreateRequest): string | undefined {
  const { metadata, spec, status } = request;
  if (!isOver(request)) return `phase ${status?.phase}`;
  if (spec.ttlSecondsAfterFinished !== undefined) return "its time to live is over";
  if (Object.hasOwn(metadata.labels ?? {}, RECREATE_ACTIVE_LABEL)) return "it is still active";
  if ((metadata.finalizers ?? []).length > 0) return "its finalizer";
  if (status?.message !== undefined) return undefined;
  for (const { name, statusContext: { restartCount = 0 } = {} } of spec.containers) {
    const shown = status?.containerStatusSnapshot?.find((one) => one.name === name);
    // What ended again may not have been back before the request was over.
    const isFirst = shown === undefined || shown.restartCount === restartCount + 1;
    if (stateOf(status, name)?.phase === "Succeeded" && isFirst && shown?.ready !== true)
      return `${name} shown as ${JSON.stringify(shown)}`;
  }
  return undefined;
}

/** How it ended, for people: what was said, else of each container whether it was stopped for it. */
export function endOf({ status }: ContainerRecreateRequest): string {
  const states = status?.containerRecreateStates ?? [];
  return status?.message ?? states.map(({ phase }) => phase).join(", ");
}

/** Whatever has ended runs again and is told of; nobody holds the pod for a request any more. */
export function unsettledPod({ pod, node }: Stored): string | undefined {
  if (pod === undefined) return undefined;
  const held = holdersOf(pod).filter((holder) => holder.startsWith("ContainerRecreateRequest"));
  if (held.length > 0) return `a pod that is held for ${held}`;
  const statuses = objectsAt(objectAt(pod, "status"), "containerStatuses");
  for (const [name, { id }] of node.get(uidOf(pod)) ?? []) {
    const shown = statuses.find((one) => textAt(one, "name") === name);
    if (!isJsonObject(shown) || !textAt(shown, "containerID").endsWith(id)) return `an untold ${name}`;
  }
  return undefined;
}
