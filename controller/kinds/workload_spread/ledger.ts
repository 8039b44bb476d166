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
} from "../../../crds/index.ts";
import { findCondition, formatTime, timeOf } from "../../../kube/core/index.ts";
import { capOf, isRelative, roomIn, UNLIMITED } from "./caps.ts";

/** An operation on a pod that admission lets pass. */
export type LedgerEntry =
  /** `key`: the pod's name, or an ID of its own while it has none. */
  | { readonly type: "creation"; readonly version: string; readonly key: string }
  | {
      readonly type: "deletion";
      readonly version: string;
      readonly pod: string;
      readonly uid: string;
      readonly subset: string;
    };

export interface Recorded {
  /** Where the pod of each entry goes or was; undefined when no subset takes it, or when the subset is unknown. */
  readonly subsets: readonly (string | undefined)[];
  /** Undefined when the entries change nothing. */
  readonly status: WorkloadSpreadStatus | undefined;
}

/**
 * Records the entries one after the other. `size`: of the workload, -1 for unknown; read only where `needsSize`. `now` in
 * milliseconds since the epoch.
 */
export function record(
  spread: WorkloadSpread,
  entries: readonly LedgerEntry[],
  size: number,
  now: number,
): Recorded {
  const versions = new Map<string, readonly Row[]>();
  const known = entries.some((entry) => needsSize(spread, entry)) ? size : undefined;
  const subsets = entries.map((entry) => {
    const rows = versions.get(entry.version) ?? rowsOf(spread, entry.version, known);
    versions.set(entry.version, rows);
    return entry.type === "creation"
      ? created(rows, entry.key, now)
      : deleted(rows, entry.subset, entry.pod, now);
  });
  const changed = [...versions].filter(([, rows]) => rows.some(({ isChanged }) => isChanged));
  if (changed.length === 0) return { subsets, status: undefined };
  const lists = changed.map(([version, rows]) => [version, rows.map((row) => row.status())]);
  const versionedSubsetStatuses = {
    ...spread.status?.versionedSubsetStatuses,
    ...Object.fromEntries(lists),
  };
  return { subsets, status: { ...spread.status, versionedSubsetStatuses } };
}

/**
 * Whether the size of the workload decides: for a percentage of which the controller has not said yet what it is worth, in
 * this version of the pods and this generation of the object; and for what leaves a full subset, which may be over its cap.
 */
export function needsSize(spread: WorkloadSpread, entry: LedgerEntry): boolean {
  const { version } = entry;
  return spread.spec.subsets.some((subset) => {
    if (!isRelative(subset)) return false;
    if (!isWorkedOut(spread, version, subset)) return true;
    const { name } = subset;
    return (
      entry.type === "deletion" &&
      entry.subset === name &&
      storedStatus(spread, version, name)?.missingReplicas === 0
    );
  });
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

/** A subset in the ledger while entries are recorded: each costs the same, however many there are. */
class Row {
  readonly name: string;
  /** Undefined: any number of pods. Room follows from it as it is now, not from what an earlier spec left. */
  readonly cap: number | undefined;
  readonly creating: Map<string, string>;
  readonly deleting: Map<string, string>;
  replicas: number;
  isChanged = false;
  readonly #stored: WorkloadSpreadSubsetStatus;

  constructor(stored: WorkloadSpreadSubsetStatus, cap: number | undefined) {
    this.name = stored.name;
    this.cap = cap;
    this.creating = new Map(Object.entries(stored.creatingPods ?? {}));
    this.deleting = new Map(Object.entries(stored.deletingPods ?? {}));
    this.replicas = stored.replicas;
    this.#stored = stored;
  }

  get isOpen(): boolean {
    return !isClosed(this.#stored) && this.#room !== 0;
  }

  /** It has more pods than it may. */
  get isOver(): boolean {
    return this.cap !== undefined && this.#taken > this.cap;
  }

  get #taken(): number {
    return taken(this.replicas, this.creating.size, this.deleting.size);
  }

  get #room(): number {
    return roomIn(this.cap, this.#taken);
  }

  status(): WorkloadSpreadSubsetStatus {
    const { creatingPods: _, deletingPods: __, ...rest } = this.#stored;
    return {
      ...rest,
      ...(this.creating.size === 0 ? {} : { creatingPods: Object.fromEntries(this.creating) }),
      ...(this.deleting.size === 0 ? {} : { deletingPods: Object.fromEntries(this.deleting) }),
      missingReplicas: this.#room,
      replicas: this.replicas,
    };
  }
}

/** In the order of the spec. `size`: undefined where the ledger itself tells what percentages are worth. */
function rowsOf(spread: WorkloadSpread, version: string, size: number | undefined): Row[] {
  return spread.spec.subsets.map((subset) => {
    const { name } = subset;
    const stored = storedStatus(spread, version, name) ?? { name, replicas: 0, missingReplicas: 0 };
    const cap =
      size === undefined && isRelative(subset)
        ? stored.missingReplicas + takenIn(stored)
        : capOf(subset, size ?? -1);
    return new Row(stored, cap);
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

function takenIn({ replicas, creatingPods = {}, deletingPods = {} }: WorkloadSpreadSubsetStatus): number {
  return taken(replicas, Object.keys(creatingPods).length, Object.keys(deletingPods).length);
}

/**
 * Pods that are seen or on their way, without those that are about to go. A pod that goes may have been there before the ledger:
 * it leaves no more room than there is.
 */
function taken(replicas: number, creating: number, deleting: number): number {
  return creating + Math.max(0, replicas - deleting);
}

/** Half the time after which the controller gives up a creation: retries in a row cost no writes. */
const REFRESH_MS = 15_000;

/** The subset that takes the pod. */
function created(rows: readonly Row[], key: string, now: number): string | undefined {
  const asked = rows.find(({ creating }) => creating.has(key));
  if (asked !== undefined) {
    if (!asked.isOver) return askedAgain(asked, key, now);
    // Its place was taken away with a lower cap, and it is not there yet.
    asked.creating.delete(key);
    asked.isChanged = true;
  }
  const former = rows.find(({ deleting }) => deleting.has(key));
  const row = former?.isOpen === true ? former : rows.find(({ isOpen }) => isOpen);
  if (row === undefined || row.cap === undefined) return row?.name;
  // Names are unique: a pod of this name that was being deleted is gone. It was seen, or it would not have been recorded.
  if (row.deleting.delete(key)) row.replicas = Math.max(0, row.replicas - 1);
  row.creating.set(key, formatTime(now));
  row.isChanged = true;
  return row.name;
}

/** A creation that was refused after it was counted, or whose answer was lost. It is waited for from now on, again. */
function askedAgain(row: Row, key: string, now: number): string {
  const since = timeOf(row.creating.get(key)) ?? 0;
  if (now - since >= REFRESH_MS) {
    row.creating.set(key, formatTime(now));
    row.isChanged = true;
  }
  return row.name;
}

function deleted(rows: readonly Row[], subset: string, pod: string, now: number): string | undefined {
  const row = rows.find(({ name }) => name === subset);
  if (row === undefined || row.cap === undefined || row.creating.has(pod) || row.deleting.has(pod))
    return row?.name;
  row.deleting.set(pod, formatTime(now));
  row.isChanged = true;
  return row.name;
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
