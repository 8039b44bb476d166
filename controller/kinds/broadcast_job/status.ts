/** The status of a BroadcastJob. Spec: jobs B3. */
import type { BroadcastJob, BroadcastJobStatus } from "../../../crds/index.ts";
import { timestamp } from "../../rollout/lifecycle/lifecycle.ts";

export type Phase = "running" | "paused" | "failed" | "completed";
type JobCondition = NonNullable<BroadcastJobStatus["conditions"]>[number];

export interface BroadcastJobCounts {
  desired: number;
  active: number;
  succeeded: number;
  failed: number;
}

/** The condition that ended the job. */
export function finalCondition(status: BroadcastJobStatus): JobCondition | undefined {
  return (status.conditions ?? []).find(
    ({ type, status: holds }) => (type === "Complete" || type === "Failed") && holds === "True",
  );
}

/** The status of a job that goes on. The first one sets the time from which its deadline counts. */
export function ongoing(
  before: BroadcastJobStatus,
  counts: BroadcastJobCounts,
  phase: Phase,
  now: number,
): BroadcastJobStatus {
  return { ...before, ...counts, phase, startTime: before.startTime ?? timestamp(now) };
}

/** The last status of a job. */
export function ended(
  before: BroadcastJobStatus,
  counts: BroadcastJobCounts,
  type: "Complete" | "Failed",
  message: string,
  now: number,
): BroadcastJobStatus {
  const at = timestamp(now);
  const condition: JobCondition = {
    type,
    status: "True",
    reason: type,
    message,
    lastProbeTime: at,
    lastTransitionTime: at,
  };
  return {
    ...ongoing(before, counts, type === "Complete" ? "completed" : "failed", now),
    completionTime: at,
    conditions: [...(before.conditions ?? []), condition],
  };
}

/** Namespace and name as events and conditions write them. */
export function jobKey({ metadata }: BroadcastJob): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}
