/** How many pods to create, delete and update now. Spec: cloneset 4.4, rules 22 to 29. */
import { type IntOrString, partitionReplicas, scaledValueOfFraction } from "../../../kube/core/index.ts";

/** The strategy in absolute numbers. */
export interface Limits {
  replicas: number;
  partition: number;
  maxUnavailable: number;
  maxSurge: number;
  /** Limit of unavailable pods while creating; Infinity when unset. */
  scaleMaxUnavailable: number;
}

/** Pods of one revision class. `active` includes those to delete and excludes those preparing for it. */
export interface ClassCount {
  active: number;
  preDeleting: number;
  toDelete: number;
  unavailable: number;
  /** Pods in PreparingUpdate, which may be counted as new while scaling (rule 29). */
  preparingUpdate: number;
}

export interface CloneSetCounts {
  updated: ClassCount;
  old: ClassCount;
}

export interface CountOptions {
  /** Pods above the partition go back to the old revision. */
  rollback: boolean;
  excludePreparingDelete: boolean;
  preparingUpdateAsUpdate: boolean;
}

export interface Numbers {
  /** Pods that are missing in all, and those of them at the current (old) revision. */
  missing: number;
  missingOld: number;
  /** Pods that are missing beside those that stay: so many that are about to be deleted are wanted again. */
  wantedBack: number;
  /** How many of the missing may be created now. */
  createLimit: number;
  /** Pods to remove beyond the specified ones, and those of them at the old revision. */
  surplus: number;
  surplusOld: number;
  /** Ready pods that may be deleted now; unready ones are always allowed. */
  deleteReadyLimit: number;
  /** Pods to bring to the update revision (> 0) or back to the current one (< 0). */
  update: number;
  /** Budget of unavailable pods during the update. */
  updateBudget: number;
  surge: number;
}

interface CloneSetStrategy {
  replicas: number;
  partition?: IntOrString | undefined;
  maxUnavailable?: IntOrString | undefined;
  maxSurge?: IntOrString | undefined;
  paused: boolean;
  /** False for OnDelete: no rolling update is configured. */
  rolling: boolean;
  scaleMaxUnavailable?: IntOrString | undefined;
}

export const DEFAULT_MAX_UNAVAILABLE = "20%";

/** Rule 22. Text that is no number counts as 0: admission refuses it, older objects may hold it. */
export function limitsOf(strategy: CloneSetStrategy): Limits {
  const total = strategy.replicas;
  const scaleMaxUnavailable =
    strategy.scaleMaxUnavailable === undefined
      ? Number.POSITIVE_INFINITY
      : scaled(strategy.scaleMaxUnavailable, total, true);
  if (!strategy.rolling) {
    return {
      replicas: total,
      partition: 0,
      maxUnavailable: scaled(DEFAULT_MAX_UNAVAILABLE, total, false),
      maxSurge: 0,
      scaleMaxUnavailable,
    };
  }
  const maxSurge = strategy.paused ? 0 : scaled(strategy.maxSurge ?? 0, total, true);
  return {
    replicas: total,
    partition: orZero(() => partitionReplicas(strategy.partition, total)),
    maxUnavailable: scaled(strategy.maxUnavailable ?? DEFAULT_MAX_UNAVAILABLE, total, maxSurge === 0),
    maxSurge,
    scaleMaxUnavailable,
  };
}

/** Not negative, and 0 for text that is no number. */
export function scaled(value: IntOrString, total: number, roundUp: boolean): number {
  return Math.max(
    0,
    orZero(() => scaledValueOfFraction(value, total, roundUp)),
  );
}

function orZero(compute: () => number): number {
  try {
    return compute();
  } catch {
    return 0;
  }
}

export function numbersOf(limits: Limits, counts: CloneSetCounts, options: CountOptions): Numbers {
  const { updated, old } = counts;
  const pods = total(updated) + total(old);
  const unavailable = updated.unavailable + old.unavailable + updated.preDeleting + old.preDeleting;
  const difference = differences(limits, counts, options);
  const surge = surgeOf(limits, counts, difference, unavailable);
  const preparing = options.preparingUpdateAsUpdate ? old.preparingUpdate : 0;
  const have = pods - (options.excludePreparingDelete ? updated.preDeleting + old.preDeleting : 0);
  const haveOld = total(old) - (options.excludePreparingDelete ? old.preDeleting : 0) - preparing;
  const want = limits.replicas + surge.total;
  const wantOld = limits.partition + surge.old;
  const missing = Math.max(0, want - have);
  const surplus = Math.max(0, have - updated.toDelete - old.toDelete - want);
  const update =
    Math.abs(difference.old) <= Math.abs(difference.updated) ? difference.old : -difference.updated;
  return {
    missing,
    missingOld: Math.min(missing, Math.max(0, wantOld - haveOld)),
    wantedBack: Math.max(0, limits.replicas - stayingOf(updated) - stayingOf(old)),
    createLimit: Math.min(missing, Math.max(0, limits.scaleMaxUnavailable - unavailable)),
    surplus,
    surplusOld: Math.min(surplus, Math.max(0, haveOld - old.toDelete - wantOld)),
    deleteReadyLimit: Math.max(0, limits.maxUnavailable + (pods - limits.replicas) - unavailable),
    // -0 must not leak: callers compare with 0 and print.
    update: update === 0 ? 0 : update,
    updateBudget: limits.maxUnavailable + pods - limits.replicas,
    surge: surge.total,
  };
}

function stayingOf({ active, toDelete }: ClassCount): number {
  return active - toDelete;
}

function total(count: ClassCount): number {
  return count.active + count.preDeleting;
}

/** Rule 24. */
function differences(
  limits: Limits,
  counts: CloneSetCounts,
  options: CountOptions,
): { old: number; updated: number } {
  const old = counts.old.active - limits.partition;
  const updated = counts.updated.active - (limits.replicas - limits.partition);
  return options.rollback ? { old, updated } : { old: Math.max(0, old), updated: Math.min(0, updated) };
}

/** Rule 25. `old` is the share of the surge that is created at the old revision. */
function surgeOf(
  limits: Limits,
  counts: CloneSetCounts,
  difference: { old: number; updated: number },
  unavailable: number,
): { total: number; old: number } {
  if (limits.maxSurge <= 0) return { total: 0, old: 0 };
  const toDelete = counts.updated.toDelete + counts.old.toDelete;
  const forDeletion = Math.min(Math.max(unavailable + toDelete - limits.maxUnavailable, 0), toDelete);
  const opposite = difference.old * difference.updated < 0;
  const forUpdate = opposite ? Math.min(Math.abs(difference.old), Math.abs(difference.updated)) : 0;
  if (forDeletion >= forUpdate) {
    const surge = Math.min(limits.maxSurge, forDeletion);
    return { total: surge, old: Math.min(surge, Math.max(0, forDeletion - counts.updated.toDelete)) };
  }
  const surge = Math.min(limits.maxSurge, forUpdate);
  return { total: surge, old: difference.old < 0 ? surge : 0 };
}
