/** The partitions of a workload: how many of its pods stay at the old revision. Pure. */
import { type IntOrString, isPercentage, partitionReplicas, scaledValue } from "../../kube/core/index.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, countAt, fieldsAt, intOrStringAt, listAt, numberAt, textAt } from "../fields.ts";
import { cloneSetStrategyPath } from "./clone_set.ts";

export interface Partition {
  /** Where it is in the object. */
  readonly path: readonly string[];
  /** `partition`, or `partition of subset a`. */
  readonly label: string;
  readonly value: IntOrString;
  /** Pods of which it is a part; undefined where nothing tells. */
  readonly total: number | undefined;
  /** Pods that it keeps back. */
  readonly kept: number;
  /** Pods that another value would keep back, of `total`: kinds round differently. */
  readonly keptOf: (value: IntOrString, total: number) => number;
  /** The field takes no percentage. */
  readonly isNumber: boolean;
}

type PartitionOf = (object: AnyObject) => Partition;
type PartitionsOf = (object: AnyObject) => Partition[];

const strategy = ["spec", "updateStrategy"];
const rolling = [...strategy, "rollingUpdate"];
const replicasOf = (object: AnyObject): number => numberAt(object, "spec", "replicas") ?? 1;

export const cloneSetPartition: PartitionOf = (object) =>
  partitionAt(object, [...cloneSetStrategyPath(object.apiVersion), "partition"], {
    total: replicasOf(object),
    keptOf: partitionReplicas,
  });

export const statefulSetPartition: PartitionOf = (object) =>
  partitionAt(object, [...rolling, "partition"], { total: replicasOf(object), isNumber: true });

export const daemonSetPartition: PartitionOf = (object) =>
  partitionAt(object, [...rolling, "partition"], {
    total: numberAt(object, "status", "desiredNumberScheduled"),
    keptOf: (value, total) => scaledValue(value, total, false),
  });

export const sidecarSetPartition: PartitionOf = (object) =>
  partitionAt(object, [...strategy, "partition"], {
    total: numberAt(object, "status", "matchedPods"),
    keptOf: partitionReplicas,
  });

/** A partition for each subset that has one. */
export const unitedDeploymentPartitions: PartitionsOf = (object) => {
  const path = [...strategy, "manualUpdate", "partitions"];
  const statuses = listAt(object, "status", "subsetStatuses");
  return Object.keys(fieldsAt(object, ...path)).flatMap((subset) => {
    const status = statuses.find((each) => textAt(each, "name") === subset);
    const total = status === undefined ? undefined : countAt(status, "replicas");
    const label = `partition of subset ${subset}`;
    return keeping(partitionAt(object, [...path, subset], { total, isNumber: true }, label));
  });
};

interface Terms {
  readonly total: number | undefined;
  readonly keptOf?: Partition["keptOf"];
  readonly isNumber?: boolean;
}

/** Nothing for a partition that keeps no pod back. */
export function keeping(partition: Partition): Partition[] {
  return Number.parseFloat(String(partition.value)) === 0 ? [] : [partition];
}

function partitionAt(
  object: AnyObject,
  path: readonly string[],
  terms: Terms,
  label = "partition",
): Partition {
  const value = intOrStringAt(object, ...path) ?? 0;
  const {
    total,
    isNumber = false,
    keptOf = (given, all) => Math.min(scaledValue(given, all, true), all),
  } = terms;
  // Where no total is known a number keeps what it says.
  const kept = total === undefined ? (typeof value === "number" ? value : 0) : keptOf(value, total);
  return { path, label, value, total, kept, keptOf, isNumber };
}

/** How far a partition is to be lowered: by a step, or to an end. */
export interface Promotion {
  readonly by: "step" | "to";
  readonly amount: IntOrString;
}

/** The partition after it. Throws CliError where that cannot be told, or keeps more pods back than before. */
export function promoted(partition: Partition, { by, amount }: Promotion): IntOrString {
  const next = by === "step" ? lowered(partition, amount) : ended(partition, amount);
  const { label, value } = partition;
  const difference = compared(partition, next);
  if (difference === 0) throw new CliError(`the ${label} is ${value} already`);
  if (difference < 0) return next;
  throw new CliError(
    `the ${label} is ${value}, and ${next} would raise it: promote only lowers it; give a smaller --to`,
  );
}

/** The amount as the field takes it. Throws CliError where a percentage is of pods that nothing counts yet. */
export function ended(partition: Partition, amount: IntOrString): IntOrString {
  if (typeof amount === "number" || !partition.isNumber) return amount;
  return scaledValue(amount, totalOf(partition), true);
}

/** Two percentages stay one; otherwise the step is taken in pods. */
function lowered(partition: Partition, step: IntOrString): IntOrString {
  const { value } = partition;
  if (isPercentage(step) && isPercentage(value)) {
    const left = Math.max(0, Number.parseFloat(String(value)) - Number.parseFloat(String(step)));
    return left === 0 ? 0 : `${Number(left.toFixed(3))}%`;
  }
  if (typeof value === "string") totalOf(partition);
  const pods = typeof step === "number" ? step : scaledValue(step, totalOf(partition), true);
  return Math.max(0, partition.kept - pods);
}

function totalOf({ total, label }: Partition): number {
  if (total !== undefined && total > 0) return total;
  throw new CliError(`the status counts no pods yet, of which the ${label} is a part: give --to N`);
}

/** Below 0: it keeps fewer back than the partition that is there. */
function compared(partition: Partition, next: IntOrString): number {
  const { value, total, kept, keptOf } = partition;
  const isAlike = isPercentage(next) === isPercentage(value) || next === 0;
  if (isAlike || total === undefined)
    return Number.parseFloat(String(next)) - Number.parseFloat(String(value));
  return keptOf(next, total) - kept;
}

/** `2`, or `20%`. Throws CliError. */
export function amountOf(text: string, flag: string, least: number): IntOrString {
  const [, digits = "", sign] = /^(\d{1,9})(%)?$/.exec(text) ?? [];
  const amount = digits === "" ? Number.NaN : Number(digits);
  if (amount >= least && (sign === undefined || amount <= 100))
    return sign === undefined ? amount : `${amount}%`;
  throw new CliError(
    `invalid value "${text}" for --${flag}: must be ${least} or more pods, or a percentage such as 20%`,
  );
}
