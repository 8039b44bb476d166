/** The shape of one reason that holds for pods. */
import type { Facts } from "./facts.ts";
import type { PodFacts } from "./pod_facts.ts";

/** What is the matter with one pod. */
export interface Found {
  /** Code for programs, `CrashLoopBackOff`. */
  readonly reason: string;
  /** What of the pod, without its name. */
  readonly what: string;
  /** Pods with the same one share an entry; default: `what`. */
  readonly key?: string;
  /** Milliseconds since the epoch. */
  readonly since: number | undefined;
  /** Before that age it may well end by itself; milliseconds. */
  readonly stuckAfterMs: number;
  readonly until: string;
  readonly next: string;
}

/** Undefined: it is not this. */
export type PodReason = (pod: PodFacts, facts: Facts) => Found | undefined;

export const second = 1000;
export const minute = 60 * second;
/** What ends by itself however long it takes. */
export const never = Number.POSITIVE_INFINITY;

export function describePod({ namespace, name }: PodFacts): string {
  return `kubectl describe pod ${name} -n ${namespace}`;
}
