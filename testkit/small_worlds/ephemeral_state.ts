/** What a small world of EphemeralJobs is at one moment. */
import type { WriteOutcome } from "../../controller/plan/effects.ts";
import type { EphemeralJob, EphemeralJobStatus } from "../../crds/index.ts";
import type { Pass, PassWrite } from "./effect_passes.ts";
import type { JobObserved, Pods } from "./ephemeral_pass.ts";

export type Jobs = ReadonlyMap<string, EphemeralJob>;

/** What the server stores. */
export interface Stored {
  readonly jobs: Jobs;
  readonly pods: Pods;
  readonly now: number;
}

/** `base`: the job that was seen; a write that is not exact is of any by its name. */
export interface StatusWrite {
  readonly is: "status";
  readonly base: EphemeralJob;
  readonly patch: object;
  readonly sent: EphemeralJobStatus;
  readonly isExact: boolean;
}

interface ExactWrite {
  readonly is: "add finalizer" | "remove finalizer" | "delete object";
  readonly base: EphemeralJob;
}

export type JobWrite = StatusWrite | ExactWrite;

/** `job`: as it was when they were decided; `outcomes`: of those that were answered. */
interface PodWrites {
  readonly is: "containers";
  readonly job: EphemeralJob;
  readonly writes: Pass;
  readonly outcomes: ReadonlyMap<string, WriteOutcome>;
  readonly requeueAfterMs: number | undefined;
}

export type JobPass = PodWrites | ExactWrite;

/** What the controller has in hand for one job, by its name. */
export interface Worker {
  readonly isQueued: boolean;
  /** By a timer. */
  readonly wakeAt?: number | undefined;
  /** None is begun before it has ended. */
  readonly pass?: JobPass | undefined;
  /** `offered`: what is to be in the status by now. */
  readonly status?: (StatusWrite & { readonly offered: EphemeralJobStatus }) | undefined;
  readonly isFollowing: boolean;
  readonly outcomes: ReadonlyMap<string, WriteOutcome>;
  /** The pass in which the end of the job was planned. */
  readonly ended?: JobObserved | undefined;
}

export type LateWrite =
  | { readonly job: string; readonly write: JobWrite }
  | { readonly job: string; readonly containers: PassWrite };

export interface EphemeralState extends Stored {
  /** What the controller has heard of; pods are listed while a job follows them. */
  readonly seen: { readonly jobs: Jobs; readonly pods: Pods | undefined };
  readonly workers: ReadonlyMap<string, Worker>;
  /** Nobody waits for these any more, and the server has yet to carry them out. */
  readonly late: readonly LateWrite[];
  readonly stage: number;
  readonly mishaps: number;
}
