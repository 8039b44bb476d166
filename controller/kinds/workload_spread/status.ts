/** What the status of a WorkloadSpread says of one version of the pods, or of all. Pure. Spec: workloadspread 4.5, 4.6. */
import {
  schedulableCondition,
  type WorkloadSpread,
  type WorkloadSpreadSubset,
  type WorkloadSpreadSubsetStatus,
} from "../../../crds/index.ts";
import { findCondition, formatTime, notAhead, timeOf } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { earliest } from "../../plan/earliest.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import { heldEntry, type KnownFor } from "../../runtime/known_entries.ts";
import { capOf, roomIn } from "./caps.ts";

/** A pod that was admitted is seen within so long, or was refused by somebody else. Milliseconds. */
const CREATION_MS = 30_000;
/** A pod that was let go is gone within so long, or was kept by somebody else. */
const DELETION_MS = 15_000;
/** A subset that could not take a pod is not tried again for so long. Milliseconds. */
export const CLOSED_MS = 300_000;

/** A pod in its subset. */
export interface WorkloadSpreadMember {
  readonly pod: Pod;
  /** Under which the ledger knows it: the ID that it was admitted with, else its name. */
  readonly key: string;
}

export interface CountedSubset {
  readonly status: WorkloadSpreadSubsetStatus;
  /** Keys of admitted pods that never came. */
  readonly notCreated: readonly string[];
  /** Names of pods that were let go and stayed. */
  readonly notDeleted: readonly string[];
  readonly isRecovered: boolean;
  /** When time alone changes the counts. */
  readonly changesInMs: number | undefined;
}

/** One subset as it was and as it is. `before`: its entry in the status. */
export interface SubsetInput {
  readonly spread: WorkloadSpread;
  readonly subset: WorkloadSpreadSubset;
  readonly before: WorkloadSpreadSubsetStatus | undefined;
  readonly members: readonly WorkloadSpreadMember[];
  /** Wanted pods of the workload; -1 for unknown. */
  readonly size: number;
  readonly now: number;
  /** Of entries of the ledger: whoever dated them may have another clock. */
  readonly knownFor: KnownFor;
}

export function countSubset(input: SubsetInput): CountedSubset {
  const { subset, before, members, size } = input;
  const active = members.filter(({ pod }) => isActive(pod));
  const seen = new Set(members.map(({ key }) => key));
  const names = new Set(active.map(({ pod }) => pod.name));
  const expected = entries(before?.creatingPods).filter(([key]) => !seen.has(key));
  const creating = split(expected, CREATION_MS, input);
  const leaving = entries(before?.deletingPods).filter(([name]) => names.has(name));
  const deleting = split(leaving, DELETION_MS, input);
  const taken = active.length + creating.kept.length - deleting.kept.length;
  const { conditions, isRecovered, opensInMs } = scheduling(input);
  return {
    status: {
      name: subset.name,
      ...(conditions === undefined ? {} : { conditions }),
      ...(creating.kept.length === 0 ? {} : { creatingPods: Object.fromEntries(creating.kept) }),
      ...(deleting.kept.length === 0 ? {} : { deletingPods: Object.fromEntries(deleting.kept) }),
      missingReplicas: roomIn(capOf(subset, size), taken),
      replicas: active.length,
    },
    notCreated: creating.expired,
    notDeleted: deleting.expired,
    isRecovered,
    changesInMs: earliest([creating.expiresInMs, deleting.expiresInMs, opensInMs]),
  };
}

function entries(times: Readonly<Record<string, string>> | undefined): [string, string][] {
  return Object.entries(times ?? {});
}

interface Split {
  readonly kept: [string, string][];
  readonly expired: string[];
  readonly expiresInMs: number | undefined;
}

function split(
  entries: readonly [string, string][],
  validMs: number,
  terms: Pick<SubsetInput, "now" | "knownFor">,
): Split {
  const recorded = entries.map(([name, date]) => ({ name, ...heldEntry({ name, date }, validMs, terms) }));
  const kept = recorded.filter(({ leftMs }) => leftMs > 0);
  return {
    kept: kept.map(({ name, at }) => [name, at]),
    expired: recorded.filter(({ leftMs }) => leftMs <= 0).map(({ name }) => name),
    expiresInMs: earliest(kept.map(({ leftMs }) => leftMs)),
  };
}

/** Seconds after which a pod that finds no node is moved; undefined while none is. */
export function criticalSeconds({ spec }: Pick<WorkloadSpread, "spec">): number | undefined {
  const { type, adaptive } = spec.scheduleStrategy ?? {};
  const seconds = adaptive?.rescheduleCriticalSeconds ?? 0;
  return type === "Adaptive" && seconds > 0 ? seconds : undefined;
}

/** Milliseconds until a pod that is not scheduled is given up; undefined for all others. */
export function untilGivenUp(pod: Pod, seconds: number, now: number): number | undefined {
  if (pod.deletionAt !== undefined || pod.phase !== "Pending" || pod.nodeName !== "") return undefined;
  return pod.createdAt + seconds * 1000 - now;
}

/** Rule 30. */
export function isGivenUp(pod: Pod, seconds: number, now: number): boolean {
  return isUnschedulable(pod) && (untilGivenUp(pod, seconds, now) ?? 1) <= 0;
}

/** The scheduler has found no node for it. */
export function isUnschedulable({ conditions }: Pod): boolean {
  const condition = findCondition(conditions, "PodScheduled");
  return condition?.status === "False" && condition.reason === "Unschedulable";
}

interface Scheduling {
  readonly conditions: WorkloadSpreadSubsetStatus["conditions"] | undefined;
  readonly isRecovered: boolean;
  readonly opensInMs: number | undefined;
}

/** Rules 31, 33, 34. The last subset takes whatever no other one can. */
function scheduling({ spread, subset, before, members, now }: SubsetInput): Scheduling {
  const seconds = criticalSeconds(spread);
  if (seconds === undefined) return { conditions: undefined, isRecovered: false, opensInMs: undefined };
  const isLast = spread.spec.subsets.at(-1)?.name === subset.name;
  const present = findCondition(before?.conditions, schedulableCondition);
  const since = present?.lastTransitionTime && notAhead(present.lastTransitionTime, now);
  const closedForMs = present?.status === "False" ? (timeOf(since) ?? 0) + CLOSED_MS - now : 0;
  const isFull = members.some(({ pod }) => isGivenUp(pod, seconds, now));
  const isClosed = !isLast && (isFull || closedForMs > 0);
  const status = isClosed ? "False" : "True";
  const condition = {
    type: schedulableCondition,
    status,
    reason: isClosed ? "PodUnschedulable" : "Sufficient",
    message: "",
    lastTransitionTime: (present?.status === status && since) || formatTime(now),
  } as const;
  return {
    conditions: [condition],
    isRecovered: present?.status === "False" && !isClosed,
    opensInMs: isClosed && closedForMs > 0 ? closedForMs : undefined,
  };
}
