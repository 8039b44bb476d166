/** What a plan of an AdvancedCronJob sees: the object and its children as plain data. Spec: jobs A2 to A4. */
import type { AdvancedCronJob, BroadcastJob, ImageListPullJob } from "../../../crds/index.ts";
import { isConditionTrue, timeOf } from "../../../kube/core/index.ts";
import { type Job, jobResource } from "../../../kube/index.ts";
import { controllerOfKind, type Owners, ownerKeyOf, ownersOf } from "../../plan/owners.ts";
import {
  advancedCronJobResource,
  broadcastJobResource,
  imageListPullJobResource,
} from "../../plan/resources.ts";
import { Children, type ChildrenDeps } from "../../runtime/children.ts";
import type { Writables } from "../../runtime/executor/executor.ts";

export type ChildKind = "Job" | "BroadcastJob" | "ImageListPullJob";

/** Times are milliseconds since the epoch. */
export interface Child {
  kind: ChildKind;
  name: string;
  uid: string;
  resourceVersion: string;
  createdAt: number;
  startedAt: number | undefined;
  /** The time for which it was made; undefined for one that somebody else made. */
  scheduledAt: number | undefined;
  state: "active" | "succeeded" | "failed";
  isGoing: boolean;
}

export interface AdvancedCronJobObserved {
  job: AdvancedCronJob;
  /** Children of every kind that the cron job controls. */
  children: readonly Child[];
  /** Zone of the process. */
  localZone: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/** The names under which effects know the children. */
export const childResources = {
  Job: "jobs",
  BroadcastJob: "broadcast jobs",
  ImageListPullJob: "pull jobs",
} as const;

/** The children of all cron jobs, wherever they are held. */
export class CronJobChildren {
  readonly #jobs: Children<Job>;
  readonly #broadcastJobs: Children<BroadcastJob>;
  readonly #pullJobs: Children<ImageListPullJob>;

  constructor(deps: ChildrenDeps) {
    const { kind } = advancedCronJobResource;
    this.#jobs = new Children(deps, kind, jobResource, ({ owners }) => owners);
    this.#broadcastJobs = new Children(deps, kind, broadcastJobResource, ownersOf);
    this.#pullJobs = new Children(deps, kind, imageListPullJobResource, ownersOf);
  }

  get writes(): Writables {
    return {
      [childResources.Job]: this.#jobs.writable(),
      [childResources.BroadcastJob]: this.#broadcastJobs.writable(),
      [childResources.ImageListPullJob]: this.#pullJobs.writable(),
    };
  }

  of({ metadata }: AdvancedCronJob): Child[] {
    const owner = ownerKeyOf(metadata);
    return [
      ...Array.from(this.#jobs.of(owner), childOfJob),
      ...Array.from(this.#broadcastJobs.of(owner), childOfBroadcastJob),
      ...Array.from(this.#pullJobs.of(owner), childOfImageListPullJob),
    ];
  }
}

/** `now`: milliseconds since the epoch. */
export function observeAdvancedCronJob(
  job: AdvancedCronJob,
  children: CronJobChildren,
  now: number,
): AdvancedCronJobObserved {
  return { job, children: children.of(job), localZone, now };
}

const localZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

type ConcurrencyPolicy = "Allow" | "Forbid" | "Replace";

/** The spec with every default filled in: objects stored before admission ran may lack them. */
export interface AdvancedCronJobStrategy {
  kind: ChildKind | undefined;
  paused: boolean;
  concurrency: ConcurrencyPolicy;
  /** Milliseconds that a run may be late; undefined: any. */
  deadlineMs: number | undefined;
  successLimit: number;
  failureLimit: number;
}

export function advancedCronJobStrategyOf({ spec }: AdvancedCronJob): AdvancedCronJobStrategy {
  const kind = childKindOf(spec.template);
  const { startingDeadlineSeconds, successfulJobsHistoryLimit, failedJobsHistoryLimit } = spec;
  const deadline = startingDeadlineSeconds ?? undefined;
  return {
    kind,
    paused: spec.paused ?? false,
    concurrency: spec.concurrencyPolicy ?? (kind === "ImageListPullJob" ? "Replace" : "Allow"),
    deadlineMs: deadline === undefined ? undefined : Math.max(0, deadline) * 1000,
    successLimit: Math.max(0, successfulJobsHistoryLimit ?? 3),
    failureLimit: Math.max(0, failedJobsHistoryLimit ?? 1),
  };
}

/** Undefined where there is no template; the first of several, which admission refuses. */
function childKindOf(template: AdvancedCronJob["spec"]["template"] | undefined): ChildKind | undefined {
  if (template?.jobTemplate) return "Job";
  if (template?.broadcastJobTemplate) return "BroadcastJob";
  return template?.imageListPullJobTemplate ? "ImageListPullJob" : undefined;
}

export const scheduledAtAnnotation = "apps.kruise.io/scheduled-at";

function childOfJob(job: Job): Child {
  const { name, uid, resourceVersion, createdAt, startedAt } = job;
  return {
    kind: "Job",
    name,
    uid,
    resourceVersion,
    createdAt,
    startedAt,
    scheduledAt: scheduledTime(name, job.annotations, job.owners),
    state: stateOf(job.conditions),
    isGoing: job.deletionAt !== undefined,
  };
}

function childOfBroadcastJob(job: BroadcastJob): Child {
  return { ...childOf("BroadcastJob", job), state: stateOf(job.status?.conditions ?? []) };
}

/** A pull job is over when it says when; it went well if every image did. */
function childOfImageListPullJob(job: ImageListPullJob): Child {
  const { completionTime, succeeded = 0, desired = 0 } = job.status ?? {};
  const ended = succeeded === desired ? "succeeded" : "failed";
  return { ...childOf("ImageListPullJob", job), state: completionTime ? ended : "active" };
}

function childOf(
  kind: ChildKind,
  { metadata, status }: BroadcastJob | ImageListPullJob,
): Omit<Child, "state"> {
  const { name = "", uid = "", resourceVersion = "", annotations = {} } = metadata;
  return {
    kind,
    name,
    uid,
    resourceVersion,
    createdAt: timeOf(metadata.creationTimestamp) ?? 0,
    startedAt: timeOf(status?.startTime),
    scheduledAt: scheduledTime(name, annotations, metadata.ownerReferences),
    isGoing: metadata.deletionTimestamp !== undefined,
  };
}

/** By the annotation; where somebody took it away, by the name. */
function scheduledTime(
  name: string,
  annotations: Readonly<Record<string, string>>,
  owners: Owners,
): number | undefined {
  const annotated = timeOf(annotations[scheduledAtAnnotation]);
  if (annotated !== undefined) return annotated;
  const prefix = `${controllerOfKind(owners, "AdvancedCronJob")?.name ?? ""}-`;
  const seconds = name.startsWith(prefix) ? name.slice(prefix.length) : "";
  return /^\d{1,12}$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}

function stateOf(conditions: readonly { type: string; status: string }[]): Child["state"] {
  if (isConditionTrue(conditions, "Complete")) return "succeeded";
  return isConditionTrue(conditions, "Failed") ? "failed" : "active";
}
