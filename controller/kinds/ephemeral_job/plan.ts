/** What happens to a job in one pass. Pure. Spec: containers 5.4. */
import type { EphemeralJob, EphemeralJobStatus } from "../../../crds/index.ts";
import { timeOf } from "../../../kube/core/index.ts";
import type { ObservedPod } from "../../native/observed_pod.ts";
import { withTimesNotAhead } from "../../plan/job_times.ts";
import { DEFAULT_TTL_SECONDS, type EphemeralJobObserved, type JobPlan, type Target } from "./model.ts";
import { isFinished, statusOf } from "./status.ts";
import { targetsOf } from "./targets.ts";

export function planEphemeralJob({ job: seen, pods, refusing, now }: EphemeralJobObserved): JobPlan {
  const job = seen.status === undefined ? seen : { ...seen, status: withTimesNotAhead(seen.status, now) };
  if (job.status !== undefined && isFinished(job.status)) return ended(job, job.status, now);
  const targets = targetsOf(job, pods);
  const deadlineInMs = deadlineAfter(job, now);
  const status = statusOf(job, targets, deadlineInMs !== undefined && deadlineInMs <= 0, now);
  if (isFinished(status)) return ended(job, status, now);
  return {
    status,
    inject: status.phase === "Paused" || status.phase === "Error" ? [] : nextPods(job, targets, refusing),
    remove: false,
    ...(deadlineInMs === undefined || deadlineInMs <= 0 ? {} : { requeueAfterMs: deadlineInMs }),
  };
}

function ended(job: EphemeralJob, status: EphemeralJobStatus, now: number): JobPlan {
  const ttlMs = (job.spec.ttlSecondsAfterFinished ?? DEFAULT_TTL_SECONDS) * 1000;
  const leftMs = (timeOf(status.completionTime) ?? now) + ttlMs - now;
  if (leftMs <= 0) return { status, inject: [], remove: true };
  return { status, inject: [], remove: false, requeueAfterMs: leftMs };
}

/** Milliseconds to the active deadline, counted from `status.startTime`; undefined without one. */
function deadlineAfter({ spec, status }: EphemeralJob, now: number): number | undefined {
  const seconds = spec.activeDeadlineSeconds;
  if (seconds === undefined || seconds === null) return undefined;
  return (timeOf(status?.startTime) ?? now) + seconds * 1000 - now;
}

/** A pod whose containers have been added counts until they end, whether they run already or not. */
function nextPods(
  { spec }: EphemeralJob,
  targets: readonly Target[],
  refusing: ReadonlySet<string>,
): ObservedPod[] {
  const busy = targets.filter(({ state }) => state === "waiting" || state === "running").length;
  const room = Math.max(0, (spec.parallelism ?? 1) - busy);
  const todo = targets.filter(({ state }) => state === "todo").map(({ pod }) => pod);
  const willing = todo.filter(({ uid }) => !refusing.has(uid));
  const byUid = new Map(todo.map((pod) => [pod.uid, pod]));
  // In turn, because one that refuses for good is not to hold up one that refused once.
  const refused = [...refusing].flatMap((uid) => byUid.get(uid) ?? []);
  return [...willing, ...refused].slice(0, room);
}
