/** Whether a subset takes new pods, and which of its pods count for nothing. Pure. Spec: uniteddeployment 4.7, 4.8. */
import type { UnitedDeployment, UnitedDeploymentStatus } from "../../../crds/index.ts";
import { findCondition, formatTime, timeOf, transitionNotAhead } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { earliest } from "../../plan/earliest.ts";
import { isReady, readySince } from "../../rollout/pods/pod_state.ts";
import type { SubsetPods } from "./classify.ts";
import { RESERVED_LABEL, REVISION_LABEL } from "./names.ts";
import type { SubsetWorkload } from "./workload.ts";

export interface ScheduleStrategy {
  readonly mode: "fixed" | "adaptive" | "reserved";
  /** Age from which a pending pod counts as unschedulable; milliseconds. */
  readonly criticalMs: number;
  /** For how long a subset stays closed, or a recovered pod must be ready; milliseconds. */
  readonly closedMs: number;
}

export function scheduleStrategyOf({ topology }: UnitedDeployment["spec"]): ScheduleStrategy {
  const { type, adaptive } = topology?.scheduleStrategy ?? {};
  const { rescheduleCriticalSeconds, unschedulableDuration, reserveUnschedulablePods } = adaptive ?? {};
  const isAdaptive = type === "Adaptive";
  return {
    mode: isAdaptive ? (reserveUnschedulablePods ? "reserved" : "adaptive") : "fixed",
    criticalMs: Math.max(0, rescheduleCriticalSeconds ?? 30) * 1000,
    closedMs: Math.max(0, unschedulableDuration ?? 300) * 1000,
  };
}

type SubsetStatus = NonNullable<UnitedDeploymentStatus["subsetStatuses"]>[number];
export type SubsetCondition = NonNullable<SubsetStatus["conditions"]>[number];

/** What is seen of one subset. */
export interface ObservedSubset {
  readonly child: SubsetWorkload | undefined;
  readonly pods: Pick<SubsetPods, "active" | "refused" | "unsettled">;
  /** Conditions of its status so far; undefined where the status does not know it yet. */
  readonly conditions: readonly SubsetCondition[] | undefined;
  /** The status knows other subsets: this one was added later. */
  readonly isAdded: boolean;
}

export interface RolloutRevisions {
  /** Name of the newest revision. */
  readonly revision: string;
  /** Since when the object has been going to it; undefined when it is not, milliseconds since the epoch. */
  readonly since: number | undefined;
}

export interface Schedulability {
  /** `Schedulable`; absent: the subset was never in trouble. */
  readonly condition: SubsetCondition | undefined;
  readonly unschedulable: boolean;
  /** Reserve mode: pods that count for nothing. */
  readonly reserved: number;
  /** Reserve mode: pods of a closed subset that are still to come. They will be reserved, and are stood in for already. */
  readonly awaited: number;
  /** Of the reserved, pods of an old revision. */
  readonly reservedOld: number;
  /** Of the reserved, pods that the scheduler has had its time for: no rollout makes them available. */
  readonly stuck: number;
  /** Reserve mode: pods turned up while the subset was unschedulable, and count for nothing until they prove healthy. */
  readonly marked: boolean;
  /** Pods whose label is to become this. */
  readonly labels: readonly { readonly pod: Pod; readonly reserved: boolean }[];
  readonly requeueAfterMs: number | undefined;
}

const CONDITION = "Schedulable";

const open: Schedulability = {
  condition: undefined,
  unschedulable: false,
  reserved: 0,
  awaited: 0,
  reservedOld: 0,
  stuck: 0,
  marked: false,
  labels: [],
  requeueAfterMs: undefined,
};

export function schedulabilityOf(
  subset: ObservedSubset,
  strategy: ScheduleStrategy,
  rollout: RolloutRevisions,
  now: number,
): Schedulability {
  if (strategy.mode === "fixed") return open;
  return strategy.mode === "adaptive"
    ? adaptiveState(subset, strategy, now)
    : reservedState(subset, strategy, rollout, now);
}

/** Milliseconds until the scheduler has had its time for a pod that it refuses. Rule 38. */
function untilTimedOut(pod: Pod, { criticalMs }: ScheduleStrategy, now: number): number {
  return Math.max(0, pod.createdAt + criticalMs - now);
}

/** A subset that is to be closed for no time is looked at this often, in whole seconds as conditions have them. */
const LEAST_CLOSED_MS = 1000;

/** Rules 39 to 41. */
function adaptiveState(
  { child, pods, conditions }: ObservedSubset,
  strategy: ScheduleStrategy,
  now: number,
): Schedulability {
  const stored = findCondition(conditions, CONDITION);
  const before = stored && transitionNotAhead(stored, now);
  // One that does not say since when has been closed for long enough: it would stay so for good.
  const closedAt = before?.status === "False" ? (timeOf(before.lastTransitionTime) ?? 0) : undefined;
  const closedForMs = closedAt === undefined ? 0 : closedAt + strategy.closedMs - now;
  if (closedForMs > 0)
    return { ...open, condition: before, unschedulable: true, requeueAfterMs: closedForMs };
  const isShort = child !== undefined && child.readyReplicas < child.currentReplicas;
  const times = isShort ? pods.refused.map((pod) => untilTimedOut(pod, strategy, now)) : [];
  const firstMs = earliest(times);
  if (firstMs === 0) {
    const condition = schedulable("False", "reschedule", "timeout pending pods found", now);
    const requeueAfterMs = Math.max(LEAST_CLOSED_MS, strategy.closedMs);
    return { ...open, condition, unschedulable: true, requeueAfterMs };
  }
  const seconds = (strategy.closedMs / 1000).toFixed(6);
  const condition =
    closedAt === undefined
      ? before
      : schedulable("True", "recover", `unschedulable subset recovered after ${seconds} seconds`, now);
  return { ...open, condition, requeueAfterMs: firstMs };
}

/** Rules 42 to 45. */
function reservedState(
  { child, pods, conditions, isAdded }: ObservedSubset,
  strategy: ScheduleStrategy,
  rollout: RolloutRevisions,
  now: number,
): Schedulability {
  const known = findCondition(conditions, CONDITION);
  const created = "newly-created subsets in reservation strategy";
  const before =
    known ??
    (isAdded && conditions === undefined ? schedulable("False", "created", created, now) : undefined);
  // Nothing is known of a subset before it has pods.
  if (child === undefined) return { ...open, condition: before };
  const wasClosed = before?.status === "False";
  const refused = new Set(pods.refused);
  const states = pods.unsettled.map((pod) => {
    const label = pod.labels[RESERVED_LABEL];
    const wasReserved = label === "true" || (label === undefined && wasClosed);
    const state = wasReserved
      ? reservedPod(pod, strategy, rollout, now)
      : countedPod(pod, refused.has(pod), strategy, rollout, now);
    return { ...state, pod, label };
  });
  const reserved = states.filter((state) => state.reserved);
  // Pods that are recreated are gone for a moment: that is no sign of room for them.
  const awaited = wasClosed ? Math.max(0, child.replicas - pods.active) : 0;
  const isClosed = reserved.length + awaited > 0;
  const condition = isClosed
    ? transition(before, "False", "reserved pods found", now)
    : transition(before, "True", "no reserved pods", now);
  return {
    condition,
    unschedulable: isClosed,
    reserved: reserved.length,
    awaited,
    reservedOld: reserved.filter(({ pod }) => !isAt(pod, rollout)).length,
    stuck: reserved.filter(({ pod }) => refused.has(pod) && untilTimedOut(pod, strategy, now) === 0).length,
    marked: wasClosed,
    labels: states
      .filter((state) => state.label !== String(state.reserved))
      .map(({ pod, reserved: isReserved }) => ({ pod, reserved: isReserved })),
    requeueAfterMs: earliest(states.map(({ changesInMs }) => changesInMs)),
  };
}

interface ReservedState {
  readonly reserved: boolean;
  /** When time alone makes it another one. */
  readonly changesInMs: number | undefined;
}

/** A pod that counts for nothing does so until it has proved healthy. Rule 44. */
function reservedPod(
  pod: Pod,
  { closedMs }: ScheduleStrategy,
  rollout: RolloutRevisions,
  now: number,
): ReservedState {
  const since = readySince(pod);
  if (!isReady(pod) || since === undefined || !isAt(pod, rollout))
    return { reserved: true, changesInMs: undefined };
  const leftMs = since + closedMs - now;
  return leftMs > 0 ? { reserved: true, changesInMs: leftMs } : { reserved: false, changesInMs: undefined };
}

/** A pod that counts does so until the scheduler has had its time for it. Rule 43. */
function countedPod(
  pod: Pod,
  isRefused: boolean,
  strategy: ScheduleStrategy,
  rollout: RolloutRevisions,
  now: number,
): ReservedState {
  const untilRefused = isRefused ? untilTimedOut(pod, strategy, now) : undefined;
  const leftMs = isAt(pod, rollout) ? untilRefused : untilLeftBehind(pod, strategy, rollout, now);
  return leftMs === 0 ? { reserved: true, changesInMs: undefined } : { reserved: false, changesInMs: leftMs };
}

/** Old pods that serve wait for their update; those that do not are what the scheduler has no room for. */
function untilLeftBehind(
  pod: Pod,
  { criticalMs }: ScheduleStrategy,
  { since }: RolloutRevisions,
  now: number,
): number | undefined {
  return since === undefined || isReady(pod) ? undefined : Math.max(0, since + criticalMs - now);
}

function isAt(pod: Pod, { revision }: RolloutRevisions): boolean {
  return pod.labels[REVISION_LABEL] === revision;
}

/** A marked subset that has just become free and grows: its new pods are reserved until they prove healthy. Rule 45. */
export function afterGrowth(state: Schedulability, grows: boolean, now: number): SubsetCondition | undefined {
  if (!state.marked || state.unschedulable || !grows) return state.condition;
  return schedulable("False", "reschedule", "subset just recovered scaled up", now);
}

function transition(
  before: SubsetCondition | undefined,
  status: "True" | "False",
  message: string,
  now: number,
): SubsetCondition {
  const next = schedulable(status, "reschedule", message, now);
  return before?.status === status && before.message === message ? before : next;
}

function schedulable(
  status: "True" | "False",
  reason: string,
  message: string,
  now: number,
): SubsetCondition {
  return { type: CONDITION, status, reason, message, lastTransitionTime: formatTime(now) };
}
