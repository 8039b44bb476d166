/** What a job reports. Pure. Spec: containers 5.4, rule 5. */
import type { EphemeralJob, EphemeralJobStatus } from "../../../crds/index.ts";
import { formatTime } from "../../../kube/core/index.ts";
import { containersOf, type JobCondition, type PodState, type Target } from "./model.ts";

export type Phase = "Waiting" | "Running" | "Succeeded" | "Failed" | "Paused" | "Unknown" | "Error";

/** A job that has ended stays as it is. */
export function isFinished(status: EphemeralJobStatus | undefined): boolean {
  return (status?.completionTime ?? "") !== "";
}

interface Progress {
  readonly phase: Phase;
  readonly condition?: Omit<JobCondition, "status">;
  readonly finished?: true;
}

/** The status of a job that has not ended; `deadlineOver`: its active deadline has passed. */
export function statusOf(
  job: EphemeralJob,
  targets: readonly Target[],
  deadlineOver: boolean,
  now: number,
): EphemeralJobStatus {
  const before = job.status;
  const counts = countsOf(targets);
  const progress = progressAt(job, targets.length, counts, deadlineOver);
  let conditions = withCondition(
    before?.conditions,
    { type: "Initialized", reason: "Initialized", message: "job is initialized" },
    now,
  );
  if (counts.failed > 0 && progress.finished === undefined) {
    const message = `${counts.failed} pods failed to run the ephemeral containers`;
    conditions = withCondition(conditions, { type: "JobFailed", reason: "CreateFailed", message }, now);
  }
  if (progress.condition !== undefined) conditions = withCondition(conditions, progress.condition, now);
  return {
    ...before,
    startTime: before?.startTime ?? formatTime(now),
    phase: progress.phase,
    match: targets.length,
    running: counts.running,
    succeeded: counts.succeeded,
    waiting: counts.waiting,
    failed: counts.failed,
    conditions: [...conditions],
    ...(progress.finished ? { completionTime: formatTime(now) } : {}),
  };
}

function countsOf(targets: readonly Target[]): Record<PodState, number> {
  const counts = { todo: 0, waiting: 0, running: 0, succeeded: 0, failed: 0 };
  for (const { state } of targets) counts[state]++;
  return counts;
}

function progressAt(
  job: EphemeralJob,
  match: number,
  counts: Record<PodState, number>,
  deadlineOver: boolean,
): Progress {
  if (containersOf(job).length === 0) {
    const message = "spec.template.ephemeralContainers is empty";
    return { phase: "Error", condition: { type: "JobError", reason: "JobError", message } };
  }
  const progress = progressOf(job, match, counts);
  if (progress.finished !== undefined) return progress;
  if (job.spec.paused === true) return { phase: "Paused" };
  if (!deadlineOver) return progress;
  const { namespace, name } = job.metadata;
  const message = `EphemeralJob ${namespace}/${name} was active longer than specified deadline`;
  return {
    phase: "Failed",
    condition: { type: "JobFailed", reason: "DeadlineExceeded", message },
    finished: true,
  };
}

function progressOf(job: EphemeralJob, match: number, counts: Record<PodState, number>): Progress {
  const { succeeded, failed, running, waiting } = counts;
  if (match === 0) {
    const condition = { type: "MatchedEmpty", reason: "MatchEmpty", message: "job match no pods" };
    return { phase: "Waiting", condition };
  }
  const replicas = job.spec.replicas ?? match;
  if (succeeded === replicas) {
    const message = "job success to run all tasks";
    return {
      phase: "Succeeded",
      condition: { type: "JobSucceeded", reason: "JobSucceeded", message },
      finished: true,
    };
  }
  if (running > 0) return { phase: "Running" };
  // Some may have succeeded: nothing of the job is left to do, and not all went well.
  if (failed > 0 && failed + succeeded === replicas) {
    const message = "job failed to run all tasks";
    return {
      phase: "Failed",
      condition: { type: "JobFailed", reason: "JobFailed", message },
      finished: true,
    };
  }
  return { phase: waiting === replicas ? "Waiting" : "Unknown" };
}

/** The list with a condition that holds; times move only when something of it changes. */
function withCondition(
  conditions: readonly JobCondition[] | undefined,
  next: Omit<JobCondition, "status">,
  now: number,
): readonly JobCondition[] {
  const list = conditions ?? [];
  const present = list.find(({ type }) => type === next.type);
  if (present?.status === "True" && present.reason === next.reason && present.message === next.message) {
    return list;
  }
  const time = formatTime(now);
  const moved = present?.status === "True" ? (present.lastTransitionTime ?? time) : time;
  const written: JobCondition = { ...next, status: "True", lastProbeTime: time, lastTransitionTime: moved };
  return present === undefined ? [...list, written] : list.map((one) => (one === present ? written : one));
}
