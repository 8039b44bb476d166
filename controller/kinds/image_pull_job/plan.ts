/** What one pass over an ImagePullJob does. Pure. Spec: images P4. */
import { defaultPullParallelism, type ImagePullJob, type ImagePullJobStatus } from "../../../crds/index.ts";
import { formatTime, timeOf } from "../../../kube/core/index.ts";
import { earliest } from "../../plan/earliest.ts";
import { withTimesNotAhead } from "../../plan/job_times.ts";
import type { NodeCounts } from "./nodes.ts";
import { finishedStatus, runningStatus } from "./status.ts";

interface ImagePullJobObserved {
  readonly job: ImagePullJob;
  /** Undefined while the nodes are not known yet. */
  readonly nodes: NodeCounts | undefined;
  /** When the last of its nodes without a NodeImage gets one, milliseconds since the epoch; undefined: there is none. */
  readonly nodesDueAt: number | undefined;
  /** Whether the job carries the finalizer that guards the copies of its secrets. */
  readonly guarded: boolean;
  /** A job that a list job controls goes with it: its own time to live would only have it made again. */
  readonly ownedByList: boolean;
}

export interface PullJobPlan {
  /** Adds the finalizer before anything is copied. */
  readonly guard: boolean;
  /** Gives the copies of its secrets back and takes the finalizer off. */
  readonly release: boolean;
  /** Deletes the job, its time being over. */
  readonly remove: boolean;
  /** It may be assigned to so many more nodes now, in ascending order of names. */
  readonly tell: number;
  /** Nodes that have it get the secrets that they lack. */
  readonly supply: boolean;
  /** Undefined: stays as it is. */
  readonly status: ImagePullJobStatus | undefined;
  readonly requeueAfterMs: number | undefined;
}

const idle: PullJobPlan = {
  guard: false,
  release: false,
  remove: false,
  tell: 0,
  supply: false,
  status: undefined,
  requeueAfterMs: undefined,
};

/** `now`: milliseconds since the epoch. */
export function planImagePullJob(seen: ImagePullJobObserved, now: number): PullJobPlan {
  const { metadata } = seen.job;
  const status = seen.job.status && withTimesNotAhead(seen.job.status, now);
  const observed = { ...seen, job: { ...seen.job, status } };
  if (metadata.deletionTimestamp !== undefined) return { ...idle, release: observed.guarded };
  if (status?.completionTime !== undefined) {
    const finished = planFinished(observed, now);
    return status === seen.job.status || finished.remove ? finished : { ...finished, status };
  }
  return planRunning(observed, now);
}

function planFinished({ job, guarded, ownedByList }: ImagePullJobObserved, now: number): PullJobPlan {
  const ttl = job.spec.completionPolicy?.ttlSecondsAfterFinished;
  const completedAt = timeOf(job.status?.completionTime);
  if (typeof ttl !== "number" || completedAt === undefined || ownedByList) {
    return { ...idle, release: guarded };
  }
  const left = completedAt + ttl * 1000 - now;
  if (left > 0) return { ...idle, release: guarded, requeueAfterMs: left };
  return { ...idle, release: guarded, remove: true };
}

/**
 * A job whose nodes have no NodeImage yet waits for so long after they are due: in a cluster that is new, or new to this
 * controller, the job may be there first.
 */
const NODE_IMAGE_CREATION_MS = 10_000;

function planRunning({ job, nodes, nodesDueAt, guarded }: ImagePullJobObserved, now: number): PullJobPlan {
  const guard = !guarded && (job.spec.pullSecrets?.length ?? 0) > 0;
  const startedAt = timeOf(job.status?.startTime) ?? Math.floor(now / 1000) * 1000;
  const startTime = formatTime(startedAt);
  const { type = "Always", activeDeadlineSeconds } = job.spec.completionPolicy ?? {};
  const isEnding = type === "Always";
  const deadlineAt =
    isEnding && typeof activeDeadlineSeconds === "number"
      ? startedAt + activeDeadlineSeconds * 1000
      : undefined;
  const awaitedUntil =
    nodes?.desired === 0 && nodesDueAt !== undefined
      ? Math.max(nodesDueAt, startedAt) + NODE_IMAGE_CREATION_MS
      : undefined;
  const isAwaited = awaitedUntil !== undefined && awaitedUntil > now;
  const nextAt = earliest([deadlineAt, isAwaited ? awaitedUntil : undefined]);
  const requeueAfterMs = nextAt === undefined ? undefined : Math.max(1000, nextAt - now);
  if (nodes === undefined) return { ...idle, guard, requeueAfterMs };
  const isDone = nodes.succeeded + nodes.failed === nodes.desired && !isAwaited;
  if (isEnding && isDone) return { ...idle, status: finishedStatus(nodes, startTime, now, "completed") };
  if (deadlineAt !== undefined && deadlineAt <= now) {
    return { ...idle, status: finishedStatus(nodes, startTime, now, "late") };
  }
  const tell = Math.max(0, Math.min(nodes.ready, parallelismOf(job) - nodes.active));
  return {
    ...idle,
    guard,
    tell,
    supply: nodes.lacking > 0,
    status: runningStatus(nodes, startTime, tell),
    requeueAfterMs,
  };
}

/** Nodes that pull at the same time. Throws for what admission would have refused. */
export function parallelismOf({ spec }: ImagePullJob): number {
  const given = spec.parallelism ?? defaultPullParallelism;
  const number = typeof given === "number" ? given : /^[+-]?\d+$/.test(given) ? Number(given) : Number.NaN;
  if (!(number >= 0)) {
    throw new Error(`spec.parallelism: ${JSON.stringify(given)} is no number of nodes; write 0 or more`);
  }
  return number;
}
