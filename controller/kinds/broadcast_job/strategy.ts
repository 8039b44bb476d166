/** What a BroadcastJob asks for, with every default filled in, and what a pod counts as. Spec: jobs B2, B4. */
import { type BroadcastJob, parallelismOf } from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";

/** Everything that is not in the object. */
export interface BroadcastJobOptions {
  /** Flag --assign-bcj-pods-by-scheduler: pods are pinned by node affinity, not by node name. */
  assignByScheduler: boolean;
}

type FailurePolicy = "FailFast" | "Continue" | "Pause";

/** The spec with every default filled in: objects stored before admission ran may lack them. */
export interface BroadcastJobStrategy {
  /** New nodes keep the job going. */
  endless: boolean;
  paused: boolean;
  failurePolicy: FailurePolicy;
  /** Restarts of one pod beyond which it counts as failed; undefined where pods are not restarted. */
  restartLimit: number | undefined;
  /** Milliseconds; undefined without a deadline. */
  deadlineMs: number | undefined;
  ttlMs: number | undefined;
  /** Pods that may be active on so many nodes. */
  parallelism(desired: number): number;
}

export function broadcastJobStrategyOf({ spec }: BroadcastJob): BroadcastJobStrategy {
  const { completionPolicy = {}, failurePolicy = {}, parallelism } = spec;
  const endless = completionPolicy.type === "Never";
  return {
    endless,
    paused: spec.paused ?? false,
    failurePolicy: policyOf(failurePolicy.type),
    restartLimit:
      spec.template.spec.restartPolicy === "OnFailure"
        ? Math.max(0, failurePolicy.restartLimit ?? 0)
        : undefined,
    deadlineMs: endless ? undefined : millisecondsOf(completionPolicy.activeDeadlineSeconds),
    ttlMs: millisecondsOf(completionPolicy.ttlSecondsAfterFinished),
    parallelism: (desired) =>
      parallelism === undefined || parallelism === null
        ? Number.POSITIVE_INFINITY
        : Math.max(0, parallelismOf(parallelism, desired)),
  };
}

/** A type that the API does not know makes nothing of failed pods, as `Continue`. */
function policyOf(type: string | undefined): FailurePolicy {
  if (type === undefined || type === "" || type === "FailFast") return "FailFast";
  return type === "Pause" ? "Pause" : "Continue";
}

function millisecondsOf(seconds: number | undefined | null): number | undefined {
  return seconds === undefined || seconds === null ? undefined : Math.max(0, seconds) * 1000;
}

/**
 * How a pod counts. `over`: alive, but restarted too often; it counts as failed. `deleting`: it is being deleted and has
 * not succeeded; it counts as nothing.
 */
export type TaskState = "succeeded" | "failed" | "over" | "deleting" | "active";

export function taskStateOf(pod: Pod, restartLimit: number | undefined): TaskState {
  if (pod.phase === "Succeeded") return "succeeded";
  // The kubelet reports pods that are stopped for their deletion as failed: no task of theirs has failed.
  if (pod.deletionAt !== undefined) return "deleting";
  if (pod.phase === "Failed") return "failed";
  return restartLimit !== undefined && restartsOf(pod) > restartLimit ? "over" : "active";
}

function restartsOf(pod: Pod): number {
  let sum = pod.initRestarts ?? 0;
  for (const status of pod.containerStatuses) sum += status.restartCount;
  return sum;
}
