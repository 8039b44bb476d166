/**
 * The ledger of a WorkloadSpread: which subset takes a new pod, and what the status says afterwards. Pure. Whoever stores
 * what it returns does so on the version of the object that it was given: two decisions on the same version exclude each
 * other. Spec: workloadspread 4.1 rules 6 to 9, 4.2.
 */
import {
  schedulableCondition,
  type WorkloadSpread,
  type WorkloadSpreadStatus,
  type WorkloadSpreadSubset,
  type WorkloadSpreadSubsetStatus,
} from "../../crds/index.ts";
import { findCondition, formatTime, timeOf } from "../../kube/core/index.ts";
import { capOf, isRelative, roomIn, UNLIMITED } from "./caps.ts";

/** An operation on a pod that admission lets pass. */
export type LedgerEntry =
  /** `key`: the pod's name, or an ID of its own while it has none. */
  | { readonly type: "creation"; readonly version: string; readonly key: string }
  | {
      readonly type: "deletion";
      readonly version: string;
      readonly pod: string;
      readonly subset: string;
    };

export interface Recorded {
  /** Where the pod goes or was; undefined when no subset takes it, or when the subset is unknown. */
  readonly subset: string | undefined;
  /** Undefined when the entry changes nothing. */
  readonly status: WorkloadSpreadStatus | undefined;
}

/** `size`: of the workload, -1 for unknown; read only where `needsSize`. `now` in milliseconds since the epoch. */
export function record(spread: WorkloadSpread, entry: LedgerEntry, size: number, now: number): Recorded {
  const rows = rowsOf(spread, entry.version, size);
  const { subset, changed } =
    entry.type === "creation" ? created(rows, entry.key, now) : deleted(rows, entry.subset, entry.pod, now);
  if (changed === undefined) return { subset, status: undefined };
  const list = rows.map(({ status }) => (status.name === changed.name ? changed : status));
  const versionedSubsetStatuses = { ...spread.status?.versionedSubsetStatuses, [entry.version]: list };
  return { subset, status: { ...spread.status, versionedSubsetStatuses } };
}

/**
 * Whether the size of the workload decides: for a percentage of which the controller has not said yet what it is worth, in
 * this version of the pods and this generation of the object.
 */
export function needsSize(spread: WorkloadSpread, version: string): boolean {
  return spread.spec.subsets.some((subset) => isRelative(subset) && !isWorkedOut(spread, version, subset));
}

function isWorkedOut(spread: WorkloadSpread, version: string, { name }: WorkloadSpreadSubset): boolean {
  const { metadata, status } = spread;
  const stored = storedStatus(spread, version, name);
  return status?.observedGeneration === metadata.generation && (stored?.missingReplicas ?? UNLIMITED) >= 0;
}

/** Whether the subset of this name takes any number of pods: what goes frees no place in it. */
export function isUnlimited({ spec }: WorkloadSpread, subset: string): boolean {
  const found = spec.subsets.find(({ name }) => name === subset);
  return found !== undefined && capOf(found, 0) === undefined;
}

/** A subset in the ledger. */
interface Row {
  readonly status: WorkloadSpreadSubsetStatus;
  /** Undefined: any number of pods. */
  readonly cap: number | undefined;
}

/** In the order of the spec. Room follows from the cap as it is now, not from what an earlier spec left. */
function rowsOf(spread: WorkloadSpread, version: string, size: number): Row[] {
  return spread.spec.subsets.map((subset) => {
    const { name } = subset;
    const stored = storedStatus(spread, version, name) ?? { name, replicas: 0, missingReplicas: 0 };
    const cap =
      isRelative(subset) && isWorkedOut(spread, version, subset)
        ? stored.missingReplicas + takenIn(stored)
        : capOf(subset, size);
    return { status: withRoom(stored, cap), cap };
  });
}

function storedStatus(
  { status }: WorkloadSpread,
  version: string,
  subset: string,
): WorkloadSpreadSubsetStatus | undefined {
  const versions = status?.versionedSubsetStatuses ?? {};
  return Object.hasOwn(versions, version)
    ? versions[version]?.find(({ name }) => name === subset)
    : undefined;
}

/** Pods that are seen or on their way, without those that are about to go. */
function takenIn({ replicas, creatingPods = {}, deletingPods = {} }: WorkloadSpreadSubsetStatus): number {
  return replicas + Object.keys(creatingPods).length - Object.keys(deletingPods).length;
}

function withRoom(status: WorkloadSpreadSubsetStatus, cap: number | undefined): WorkloadSpreadSubsetStatus {
  return { ...status, missingReplicas: roomIn(cap, takenIn(status)) };
}

/** Half the time after which the controller gives up a creation: retries in a row cost no writes. */
const REFRESH_MS = 15_000;

interface Written {
  readonly subset: string | undefined;
  readonly changed?: WorkloadSpreadSubsetStatus;
}

function created(rows: readonly Row[], key: string, now: number): Written {
  const asked = rows.find(({ status }) => Object.hasOwn(status.creatingPods ?? {}, key));
  if (asked !== undefined) return askedAgain(asked, key, now);
  const former = rows.find(({ status }) => Object.hasOwn(status.deletingPods ?? {}, key));
  const row = former !== undefined && isOpen(former) ? former : rows.find(isOpen);
  if (row === undefined) return { subset: undefined };
  const { cap } = row;
  const status = row === former ? withoutFormer(row.status, key) : row.status;
  if (cap === undefined) return { subset: status.name };
  const creatingPods = { ...status.creatingPods, [key]: formatTime(now) };
  return { subset: status.name, changed: withRoom({ ...status, creatingPods }, cap) };
}

/** A creation that was refused after it was counted, or whose answer was lost. It is waited for from now on, again. */
function askedAgain({ status, cap }: Row, key: string, now: number): Written {
  const { name, creatingPods = {} } = status;
  const since = timeOf(creatingPods[key]) ?? 0;
  if (now - since < REFRESH_MS) return { subset: name };
  const refreshed = { ...creatingPods, [key]: formatTime(now) };
  return { subset: name, changed: withRoom({ ...status, creatingPods: refreshed }, cap) };
}

function isOpen({ status }: Row): boolean {
  return !isClosed(status) && status.missingReplicas !== 0;
}

/** Names are unique: a pod of this name that was being deleted is gone. It was seen, or it would not have been recorded. */
function withoutFormer(status: WorkloadSpreadSubsetStatus, pod: string): WorkloadSpreadSubsetStatus {
  const { [pod]: _, ...deletingPods } = status.deletingPods ?? {};
  return { ...status, deletingPods, replicas: Math.max(0, status.replicas - 1) };
}

function deleted(rows: readonly Row[], subset: string, pod: string, now: number): Written {
  const row = rows.find(({ status }) => status.name === subset);
  if (row === undefined) return { subset: undefined };
  const { status, cap } = row;
  const { creatingPods = {}, deletingPods = {} } = status;
  if (cap === undefined || Object.hasOwn(creatingPods, pod) || Object.hasOwn(deletingPods, pod))
    return { subset };
  const changed = { ...status, deletingPods: { ...deletingPods, [pod]: formatTime(now) } };
  return { subset, changed: withRoom(changed, cap) };
}

function isClosed({ conditions }: WorkloadSpreadSubsetStatus): boolean {
  return findCondition(conditions, schedulableCondition)?.status === "False";
}

/**
 * The subset of a pod of a StatefulSet: by its ordinal, against the caps of the subsets that are open, one after the other.
 * Undefined beyond all of them. Spec: workloadspread 4.1 rule 5.
 */
export function subsetOfOrdinal({ spec, status }: WorkloadSpread, ordinal: number): string | undefined {
  let threshold = 0;
  for (const subset of spec.subsets) {
    const stored = status?.subsetStatuses?.find(({ name }) => name === subset.name);
    if (stored !== undefined && isClosed(stored)) continue;
    threshold += capOf(subset, -1) ?? Number.POSITIVE_INFINITY;
    if (ordinal < threshold) return subset.name;
  }
  return undefined;
}
