/** What the plan of an EphemeralJob works on. */
import type { EphemeralJob, EphemeralJobStatus } from "../../../crds/index.ts";
import { isJsonObject, type JsonObject } from "../../../kube/core/index.ts";
import type { ObservedPod } from "../../native/observed_pod.ts";

export const CLEANUP_FINALIZER = "apps.kruise.io/ephemeralcontainers-cleanup";
/** Variable of an ephemeral container that says whose it is: the UID of the job. */
export const JOB_ID_VARIABLE = "KRUISE_EJOB_ID";
/** Seconds that a finished job stays when nothing is said. */
export const DEFAULT_TTL_SECONDS = 1800;

export type JobCondition = NonNullable<EphemeralJobStatus["conditions"]>[number];

/**
 * The schema leaves them open, so that anything may be stored around admission: what is no list counts as empty, an item that
 * is no object as an empty one, which no pod takes.
 */
export function containersOf({ spec }: EphemeralJob): readonly JsonObject[] {
  const containers: unknown = spec.template?.ephemeralContainers;
  if (!Array.isArray(containers)) return [];
  return containers.map((each: unknown) => (isJsonObject(each) ? each : {}));
}

/** How the containers of this job fare in one pod. */
export type PodState = "todo" | "waiting" | "running" | "succeeded" | "failed";

export interface Target {
  readonly pod: ObservedPod;
  readonly state: PodState;
}

export interface EphemeralJobObserved {
  readonly job: EphemeralJob;
  /** Pods that the selector matches. */
  readonly pods: readonly ObservedPod[];
  /** UIDs of pods that did not take the containers when they were last asked to, in that order: others go first. */
  readonly refusing: ReadonlySet<string>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface JobPlan {
  readonly status: EphemeralJobStatus;
  /** Pods that get the containers now, in order. */
  readonly inject: readonly ObservedPod[];
  /** Its time to live is over. */
  readonly remove: boolean;
  /** Milliseconds after which time alone changes the answer. */
  readonly requeueAfterMs?: number;
}
