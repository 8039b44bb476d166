/** What one pass over an ImageListPullJob does. Pure. Spec: images L2, L3. */
import {
  type ImageListPullJob,
  type ImageListPullJobStatus,
  type ImagePullJob,
  type ImagePullJobSpec,
  wireStruct,
} from "../../../crds/index.ts";
import { encodeTyped, fnv32a, formatTime, goJson, safeEncode, timeOf } from "../../../kube/core/index.ts";
import { withTimesNotAhead } from "../../plan/job_times.ts";
import { listJobStatus } from "./status.ts";

export const HASH_LABEL = "controller-revision-hash";

interface ImageListPullJobObserved {
  readonly job: ImageListPullJob;
  /** Jobs that it controls. */
  readonly children: readonly ImagePullJob[];
}

export interface ListJobPlan {
  /** Label of the jobs that it makes. */
  readonly hash: string;
  /** What the job's label must become; undefined: it is right. */
  readonly label: string | undefined;
  readonly create: readonly ImagePullJobSpec[];
  readonly delete: readonly ImagePullJob[];
  /** Deletes the job, its time being over. */
  readonly remove: boolean;
  readonly status: ImageListPullJobStatus | undefined;
  readonly requeueAfterMs: number | undefined;
}

const idle: ListJobPlan = {
  hash: "",
  label: undefined,
  create: [],
  delete: [],
  remove: false,
  status: undefined,
  requeueAfterMs: undefined,
};

/** `now`: milliseconds since the epoch. */
export function planImageListPullJob(
  { job: seen, children }: ImageListPullJobObserved,
  now: number,
): ListJobPlan {
  const job = { ...seen, status: seen.status && withTimesNotAhead(seen.status, now) };
  if (job.metadata.deletionTimestamp !== undefined) return idle;
  if (job.status?.completionTime !== undefined) {
    const finished = planFinished(job, now);
    return job.status === seen.status || finished.remove ? finished : { ...finished, status: job.status };
  }
  const hash = templateHash(job);
  const live = children.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const images = [...new Set(job.spec.images ?? [])];
  const kept = new Map<string, ImagePullJob>();
  const surplus: ImagePullJob[] = [];
  for (const child of live.toSorted(byAge)) {
    const { image } = child.spec;
    const isWanted = images.includes(image) && child.metadata.labels?.[HASH_LABEL] === hash;
    if (isWanted && !kept.has(image)) kept.set(image, child);
    else surplus.push(child);
  }
  const missing = images.filter((image) => !kept.has(image));
  const startTime = formatTime(timeOf(job.status?.startTime) ?? now);
  return {
    ...idle,
    hash,
    label: job.metadata.labels?.[HASH_LABEL] === hash ? undefined : hash,
    create: missing.map((image) => childSpec(job, image)),
    delete: surplus,
    status: listJobStatus(job, images, kept, { startTime, now, hasSurplus: surplus.length > 0 }),
  };
}

function planFinished(job: ImageListPullJob, now: number): ListJobPlan {
  const ttl = job.spec.completionPolicy?.ttlSecondsAfterFinished;
  const completedAt = timeOf(job.status?.completionTime);
  if (typeof ttl !== "number" || completedAt === undefined) return idle;
  const left = completedAt + ttl * 1000 - now;
  return left > 0 ? { ...idle, requeueAfterMs: left } : { ...idle, remove: true };
}

/** Everything but the images, as typed clients write it: jobs that were made from another template are made again. */
export function templateHash({ spec }: ImageListPullJob): string {
  const template = encodeTyped(spec, "ImagePullTemplate", wireStruct);
  return safeEncode(String(fnv32a(goJson(template, { sortKeys: true }))));
}

function childSpec({ spec }: ImageListPullJob, image: string): ImagePullJobSpec {
  const { images: _, ...template } = spec;
  return { ...template, image };
}

function byAge(a: ImagePullJob, b: ImagePullJob): number {
  const difference =
    (timeOf(a.metadata.creationTimestamp) ?? 0) - (timeOf(b.metadata.creationTimestamp) ?? 0);
  return difference || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1);
}
