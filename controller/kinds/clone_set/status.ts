/** Status and conditions of a CloneSet. Spec: cloneset 3, 4.10; rules 10, 23. */
import type { CloneSet, CloneSetStatus } from "../../../crds/index.ts";
import { notAhead, type Selector, selectorText } from "../../../kube/core/index.ts";
import { timestamp } from "../../rollout/lifecycle/lifecycle.ts";
import type { StoredCount } from "./classify.ts";
import type { CloneSetStrategy } from "./strategy.ts";

/** Meaning: no deadline. */
const NO_DEADLINE = 2147483647;

interface StatusInput {
  set: CloneSet;
  selector: Selector;
  counts: Record<StoredCount, number>;
  strategy: CloneSetStrategy;
  updateRevision: string;
  /** The revision that pods were at before, if it still exists. */
  currentRevision: string;
  collisionCount: number;
  failures: { readonly scale?: string | undefined; readonly update?: string | undefined };
  now: number;
}

export function statusOf(input: StatusInput): CloneSetStatus {
  const { set, counts, strategy, updateRevision, now } = input;
  const replicas = strategy.limits.replicas;
  const complete = counts.updatedReplicas === counts.replicas && counts.replicas === replicas;
  const expected = strategy.onDelete ? replicas : replicas - strategy.limits.partition;
  const status: CloneSetStatus = {
    observedGeneration: set.metadata.generation ?? 0,
    ...counts,
    ...(expected > 0 ? { expectedUpdatedReplicas: expected } : {}),
    updateRevision,
    currentRevision: complete ? updateRevision : input.currentRevision,
    collisionCount: input.collisionCount,
    labelSelector: selectorText(input.selector),
  };
  const conditions = conditionsOf(input, status, now);
  return conditions.length > 0 ? { ...status, conditions } : status;
}

function conditionsOf(input: StatusInput, status: CloneSetStatus, now: number): CloneSetCondition[] {
  const before = input.set.status?.conditions ?? [];
  const after: CloneSetCondition[] = [];
  const progressing = progressingOf(input, status, now);
  if (progressing !== undefined) after.push(progressing);
  for (const [type, message] of [
    ["FailedScale", input.failures.scale],
    ["FailedUpdate", input.failures.update],
  ] as const) {
    if (message !== undefined) after.push(moved(before, { type, status: "True", message }, now, false));
  }
  return after;
}

function deadlineOf(set: CloneSet): number | undefined {
  const seconds = set.spec.progressDeadlineSeconds;
  return seconds === undefined || seconds === null || seconds === NO_DEADLINE ? undefined : seconds;
}

type CloneSetCondition = NonNullable<CloneSetStatus["conditions"]>[number];

type Outcome = { status: "True" | "False"; reason: string; message: string };

function progressingOf(
  input: StatusInput,
  status: CloneSetStatus,
  now: number,
): CloneSetCondition | undefined {
  const deadline = deadlineOf(input.set);
  if (deadline === undefined) return undefined;
  const before = input.set.status?.conditions ?? [];
  const held = before.find((condition) => condition.type === "Progressing");
  const old = input.set.status;
  const renewed = old?.updateRevision !== status.updateRevision || held?.reason === "CloneSetPaused";
  const restarted = renewed || hasProgressed(old, status);
  const marked = held?.reason === "ProgressDeadlineExceeded" && !renewed;
  const exceeded = marked || (!restarted && isOverdue(held, deadline, now));
  const outcome = progressOutcome(input, status, exceeded);
  const condition: CloneSetCondition = { type: "Progressing", ...outcome };
  return moved(before, condition, now, restarted && outcome.reason === "CloneSetUpdated");
}

/** The clock runs while the condition says that the rollout goes on: work after a finished one starts it again. */
function isOverdue(held: CloneSetCondition | undefined, deadline: number, now: number): boolean {
  if (held?.reason !== "CloneSetUpdated") return false;
  const since = Date.parse(held.lastUpdateTime ?? "");
  return !Number.isNaN(since) && since + deadline * 1000 <= now;
}

/**
 * First match wins. The clock of the deadline starts again with a revision, a resume, and each step ahead; a rollout that
 * has exceeded it stays marked until a new revision, or until it is available, paused, or as far as its partition.
 */
function progressOutcome(input: StatusInput, status: CloneSetStatus, exceeded: boolean): Outcome {
  const replicas = input.strategy.limits.replicas;
  const available =
    status.currentRevision === status.updateRevision &&
    status.replicas === replicas &&
    status.updatedReplicas === replicas &&
    status.updatedAvailableReplicas === replicas;
  if (available) return { status: "True", reason: "CloneSetAvailable", message: "CloneSet is available" };
  if (input.strategy.paused)
    return { status: "True", reason: "CloneSetPaused", message: "CloneSet is paused" };
  const expected = status.expectedUpdatedReplicas ?? 0;
  if (expected < replicas && expected <= (status.updatedAvailableReplicas ?? 0)) {
    return {
      status: "True",
      reason: "ProgressPartitionAvailable",
      message: "CloneSet has been paused due to partition ready",
    };
  }
  if (exceeded) {
    return {
      status: "False",
      reason: "ProgressDeadlineExceeded",
      message: `CloneSet revision ${status.updateRevision} has timed out progressing`,
    };
  }
  return { status: "True", reason: "CloneSetUpdated", message: "CloneSet is progressing" };
}

function hasProgressed(before: CloneSetStatus | undefined, after: CloneSetStatus): boolean {
  if (before === undefined) return true;
  return (
    after.updatedReplicas > before.updatedReplicas ||
    (after.updatedAvailableReplicas ?? 0) > (before.updatedAvailableReplicas ?? 0)
  );
}

/** `lastUpdateTime` moves with status or reason (or when `touch` is set), `lastTransitionTime` with status only. */
function moved(
  before: readonly CloneSetCondition[],
  condition: CloneSetCondition,
  now: number,
  touch: boolean,
): CloneSetCondition {
  const old = before.find((one) => one.type === condition.type);
  const time = timestamp(now);
  const sameStatus = old?.status === condition.status;
  const same = sameStatus && (old?.reason ?? "") === (condition.reason ?? "") && !touch;
  return {
    ...condition,
    lastTransitionTime: sameStatus && old?.lastTransitionTime ? notAhead(old.lastTransitionTime, now) : time,
    lastUpdateTime: same && old?.lastUpdateTime ? notAhead(old.lastUpdateTime, now) : time,
  };
}

/** Milliseconds until the deadline passes; undefined when it does not run. */
export function untilDeadline(set: CloneSet, status: CloneSetStatus, now: number): number | undefined {
  const deadline = deadlineOf(set);
  const condition = status.conditions?.find((one) => one.type === "Progressing");
  if (deadline === undefined || condition?.reason !== "CloneSetUpdated") return undefined;
  const since = Date.parse(condition.lastUpdateTime ?? "");
  return Number.isNaN(since) ? undefined : Math.max(0, since + deadline * 1000 - now);
}
